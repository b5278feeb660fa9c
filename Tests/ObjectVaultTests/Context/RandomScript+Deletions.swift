// The random script's deletions, rollbacks, and repairs of broken rules.

import ObjectVault

extension RandomScript {
  func delete() throws {
    guard let kind = dice.pick(World.Kind.allCases), let key = dice.pick(world.keys(kind)) else { return }
    let object: ManagedObject
    switch kind {
    case .maker:
      // A denied deletion of a new object stays pending, and fetches still find the object.
      if isNew(key), world.papers.values.contains(key) { return }
      object = try maker(key)
    case .part: object = try part(key)
    case .paper: object = try self.object(key) as Paper
    case .label:
      if isNew(key) { return }
      object = try label(key)
    case .badge:
      if world.badges[key] != .some(nil) { return }
      object = try self.object(key) as Badge
    case .group: object = try self.object(key) as Group
    }
    log("delete \(kind) \(key)")
    context.delete(object)
    world.delete(key)
    if dice.isOne(in: 3) { try look() }
  }

  func rollBack() {
    guard dice.isOne(in: 3) else { return }
    log("roll back")
    context.rollback()
    (world, objects) = (saved, [:])
  }

  /// Repairs all broken rules, or some of them.
  func putRight(all: Bool) throws {
    log(all ? "put right all" : "put right some")
    func isChosen() -> Bool { all || dice.isOne(in: 2) }
    for key in world.keys(.maker) {
      let code = world.makers[key]?.code
      let isTwice = code != nil && world.makers.contains { $0.key != key && $0.value.code == code }
      if code == nil || isTwice, isChosen() {
        nextKey += 1
        log("  code of \(key): \(1000 + nextKey)")
        try maker(key).code = 1000 + nextKey
        world.makers[key]?.code = 1000 + nextKey
        try look()
      }
      if let size = world.makers[key]?.size, size > 100, isChosen() {
        try maker(key).size = 5
        world.makers[key]?.size = 5
      }
    }
    for key in world.keys(.part) {
      if world.parts[key]?.text == nil, isChosen() {
        try part(key).text = "put right"
        world.parts[key]?.text = "put right"
      }
      if let one = world.parts[key], one.first != nil, one.second != nil, isChosen(),
        world.parts.contains(where: {
          $0.key != key && ($0.value.first, $0.value.second) == (one.first, one.second)
        })
      {
        try part(key).second = nil
        world.parts[key]?.second = nil
      }
    }
    for key in world.keys(.label) {
      let name = world.labels[key] ?? nil
      let isTwice = name != nil && world.labels.contains { $0.key != key && $0.value == name }
      if name == nil || isTwice, isChosen() {
        nextKey += 1
        try label(key).name = "label \(1000 + nextKey)"
        world.labels[key] = .some("label \(1000 + nextKey)")
      }
    }
    for key in world.keys(.paper)
    where (world.papers[key] ?? nil).flatMap({ world.makers[$0] }) == nil && isChosen() {
      let paper: Paper = try object(key)
      if let owner = dice.pick(world.keys(.maker)), dice.isOne(in: 2) {
        log("  owner of paper \(key): \(owner)")
        paper.owner = try maker(owner)
        world.papers[key] = .some(owner)
        try look()
      } else {
        log("  delete paper \(key)")
        context.delete(paper)
        world.papers[key] = nil
        objects[key] = nil
      }
    }
  }
}
