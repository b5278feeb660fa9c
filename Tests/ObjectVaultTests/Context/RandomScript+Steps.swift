// The kinds of changes of the random script.

import ObjectVault

extension RandomScript {
  func step() throws {
    switch dice.next(34) {
    case 0...3: try insert()
    case 4...6: try changeValue()
    case 7...9: try changeParts()
    case 10...13: try changeLabels()
    case 14, 15: try changeBoss()
    case 16...18: try changeFriends()
    case 19, 20: try changeBadge()
    case 21, 22: try changeTree()
    case 23: try rename()
    case 24...26: try delete()
    case 27: try movePaper()
    case 28, 29: try save()
    case 30: rollBack()
    case 31: try swapCodes()
    case 32: for key in objects.keys.sorted() where !isNew(key) && dice.isOne(in: 2) { objects[key] = nil }
    default: try putRight(all: false)
    }
    for key in objects.keys where !world.contains(key) { objects[key] = nil }
  }

  // MARK: Making

  private func insert() throws {
    let key = nextKey
    nextKey += 1
    isInside = true
    defer { isInside = false }
    let isHalf = dice.isOne(in: 4)
    log("insert \(key)\(isHalf ? ", half filled" : "")")
    switch dice.next(6) {
    case 0: try insertMaker(key, isHalf)
    case 1:
      let owner = dice.pick(world.keys(.maker))
      objects[key] = try context.insert(Part.self) { new in
        new.key = key
        if let owner { new.owner = try maker(owner) }
        try look()
        if !isHalf { new.text = "part" }
      }
      world.parts[key] = World.Part(text: isHalf ? nil : "part", owner: owner)
    case 2:
      let owner = isHalf ? nil : dice.pick(world.keys(.maker))
      objects[key] = try context.insert(Paper.self) { new in
        new.key = key
        try look()
        if let owner { new.owner = try maker(owner) }
      }
      world.papers[key] = .some(owner)
    case 3:
      let name = isHalf ? nil : "label \(dice.next(12))"
      objects[key] = try context.insert(Label.self) { new in
        new.key = key
        try look()
        if let name { new.name = name }
      }
      world.labels[key] = .some(name)
    case 4:
      objects[key] = try context.insert(Badge.self) { new in
        new.key = key
        try look()
      }
      world.badges[key] = .some(nil)
    default:
      objects[key] = context.insert(Group.self) { $0.key = key }
      world.groups[key] = []
    }
  }

  /// With members, another new object inside, and now and then an error at the end.
  private func insertMaker(_ key: Int, _ isHalf: Bool) throws {
    struct Stop: Error {}
    let code = dice.next(25)
    let part = dice.isOne(in: 2) ? dice.pick(world.keys(.part)) : nil
    let label = dice.isOne(in: 2) ? dice.pick(world.keys(.label)) : nil
    let boss = dice.isOne(in: 2) ? dice.pick(world.keys(.maker)) : nil
    let fails = dice.isOne(in: 6)
    let inner = dice.isOne(in: 4) ? nextKey : nil
    if inner != nil { nextKey += 1 }
    log(
      "  a maker: code \(code), part \(part ?? 0), label \(label ?? 0), boss \(boss ?? 0), inner \(inner ?? 0)"
    )
    func lookUnlessFailing() throws { if !fails { try look() } }
    var innerPart = World.Part(text: "inner")
    do {
      objects[key] = try context.insert(Maker.self) { new in
        new.key = key
        if let part { new.parts.insert(try self.part(part)) }
        try lookUnlessFailing()
        if let label { new.add(try self.label(label), to: \.labels) }
        if let boss { new.boss = try maker(boss) }
        if let inner {
          objects[inner] = try context.insert(Part.self) { other in
            other.key = inner
            try lookUnlessFailing()
            other.text = "inner"
            other.owner = new
            try lookUnlessFailing()
          }
        }
        if !isHalf { new.code = code }
        try lookUnlessFailing()
        if fails { throw Stop() }
      }
      world.makers[key] = World.Maker(
        code: isHalf ? nil : code, boss: boss, labels: Set([label].compactMap { $0 }))
      if let part { world.parts[part]?.owner = key }
      innerPart.owner = key
    } catch is Stop {
      log("  not made")
      // Who was given to it has nobody now.
      if let part { world.parts[part]?.owner = nil }
    }
    if let inner { world.parts[inner] = innerPart }
  }

  // MARK: Values

  private func changeValue() throws {
    switch dice.next(3) {
    case 0:
      guard let key = dice.pick(world.keys(.maker)) else { return }
      let code = dice.next(25)
      log("code of \(key): \(code)")
      isDirty = true
      try maker(key).code = code
      world.makers[key]?.code = code
    case 1:
      guard let key = dice.pick(world.keys(.maker)) else { return }
      let size = dice.isOne(in: 8) ? 200 : dice.next(100)
      log("size of \(key): \(size)")
      try maker(key).size = size
      world.makers[key]?.size = size
    default:
      guard let key = dice.pick(world.keys(.part)) else { return }
      let (first, second) = (dice.next(4), dice.isOne(in: 4) ? nil : dice.next(12))
      log("pair of \(key): \(first), \(second ?? -1)")
      (isDirty, isInside) = (true, true)
      try part(key).first = first
      try look()
      isInside = false
      try part(key).second = second
      world.parts[key]?.first = first
      world.parts[key]?.second = second
    }
  }

  private func rename() throws {
    guard let key = dice.pick(world.keys(.label)) else { return }
    let name = "label \(dice.next(12))"
    log("name of \(key): \(name)")
    isDirty = true
    try label(key).name = name
    world.labels[key] = .some(name)
  }

  private func swapCodes() throws {
    let makers = world.keys(.maker).filter { world.makers[$0]?.code != nil }
    guard makers.count > 2, let one = dice.pick(makers), let two = dice.pick(makers), one != two,
      let first = world.makers[one]?.code, let second = world.makers[two]?.code
    else { return }
    log("swap the codes of \(one) and \(two)")
    (isDirty, isInside) = (true, true)
    try maker(one).code = second
    try look()
    isInside = false
    try maker(two).code = first
    world.makers[one]?.code = second
    world.makers[two]?.code = first
  }

  // MARK: Relationships

  private func changeParts() throws {
    guard let piece = dice.pick(world.keys(.part)) else { return }
    let owner = dice.isOne(in: 6) ? nil : dice.pick(world.keys(.maker))
    let way = dice.next(6)
    log("owner of part \(piece): \(owner ?? 0), way \(way)")
    guard let owner else {
      try part(piece).owner = nil
      world.parts[piece]?.owner = nil
      return
    }
    switch way {
    case 0: try part(piece).owner = try maker(owner)
    case 1: try maker(owner).add(try part(piece), to: \.parts)
    case 2: try maker(owner).parts.insert(try part(piece))
    case 3:
      let present = try maker(owner).parts
      try maker(owner).parts = present.union([try part(piece)])
    case 4: try maker(owner).remove(try part(piece), from: \.parts)
    default: try maker(owner).parts.remove(try part(piece))
    }
    if way < 4 {
      world.parts[piece]?.owner = owner
    } else if world.parts[piece]?.owner == owner {
      world.parts[piece]?.owner = nil
    }
  }

  private func changeLabels() throws {
    guard let key = dice.pick(world.keys(.maker)), let present = world.makers[key]?.labels else { return }
    if dice.isOne(in: 4) {
      let labels = Set((0..<dice.next(4)).compactMap { _ in dice.pick(world.keys(.label)) })
      log("labels of \(key): \(labels.sorted())")
      try maker(key).labels = Set(try labels.map(label))
      world.makers[key]?.labels = labels
      return
    }
    let adds = dice.isOne(in: 2)
    let known = !adds && dice.isOne(in: 2) ? dice.pick(present.sorted()) : nil
    guard let other = known ?? dice.pick(world.keys(.label)) else { return }
    // Whether an object is a member, when its set is not in memory, only the ways that read the set find out.
    let way = adds == present.contains(other) ? 1 + dice.next(2) : dice.next(4)
    log("labels of \(key): \(adds ? "+" : "-") \(other), way \(way)")
    switch (adds, way) {
    case (true, 0): try maker(key).add(try label(other), to: \.labels)
    case (true, 1): try maker(key).labels.insert(try label(other))
    case (true, 2): try label(other).makers.insert(try maker(key))
    case (true, _): try label(other).add(try maker(key), to: \.makers)
    case (false, 0): try maker(key).remove(try label(other), from: \.labels)
    case (false, 1): try maker(key).labels.remove(try label(other))
    case (false, 2): try label(other).makers.remove(try maker(key))
    case (false, _): try label(other).remove(try maker(key), from: \.makers)
    }
    if adds { world.makers[key]?.labels.insert(other) } else { world.makers[key]?.labels.remove(other) }
  }

  private func changeFriends() throws {
    guard let key = dice.pick(world.keys(.maker)), let present = world.makers[key]?.friends else { return }
    let adds = !dice.isOne(in: 3)
    let known = !adds && dice.isOne(in: 2) ? dice.pick(present.sorted()) : nil
    guard let other = known ?? dice.pick(world.keys(.maker)) else { return }
    let way = adds == present.contains(other) ? 1 + dice.next(2) : dice.next(4)
    log("friends of \(key): \(adds ? "+" : "-") \(other), way \(way)")
    switch (adds, way) {
    case (true, 0): try maker(key).add(try maker(other), to: \.friends)
    case (true, 1): try maker(key).friends.insert(try maker(other))
    case (true, 2): try maker(other).friendOf.insert(try maker(key))
    case (true, _): try maker(other).add(try maker(key), to: \.friendOf)
    case (false, 0): try maker(key).remove(try maker(other), from: \.friends)
    case (false, 1): try maker(key).friends.remove(try maker(other))
    case (false, 2): try maker(other).friendOf.remove(try maker(key))
    case (false, _): try maker(other).remove(try maker(key), from: \.friendOf)
    }
    if adds { world.makers[key]?.friends.insert(other) } else { world.makers[key]?.friends.remove(other) }
  }

  private func changeBoss() throws {
    guard let key = dice.pick(world.keys(.maker)) else { return }
    let boss = dice.isOne(in: 4) ? nil : dice.pick(world.keys(.maker))
    let way = dice.next(3)
    log("boss of \(key): \(boss ?? 0), way \(way)")
    switch (boss, way) {
    case (let boss?, 1): try maker(boss).add(try maker(key), to: \.staff)
    case (let boss?, 2): try maker(boss).staff.insert(try maker(key))
    default: try maker(key).boss = try boss.map(maker)
    }
    world.makers[key]?.boss = boss
  }

  private func changeBadge() throws {
    guard let key = dice.pick(world.keys(.badge)), !isNew(key) else { return }
    let owner = dice.isOne(in: 4) ? nil : dice.pick(world.keys(.maker))
    let isFromOwner = dice.isOne(in: 2)
    log("owner of badge \(key): \(owner ?? 0)\(isFromOwner ? ", from there" : "")")
    let badge: Badge = try object(key)
    if let owner, isFromOwner { try maker(owner).badge = badge } else { badge.owner = try owner.map(maker) }
    if let owner {
      for other in world.keys(.badge) where world.badges[other] == owner { world.badges[other] = .some(nil) }
    }
    world.badges[key] = .some(owner)
  }

  private func changeTree() throws {
    if dice.isOne(in: 2) {
      // Not in a ring, which a cascade would take as a whole.
      guard let key = dice.pick(world.keys(.part)), let whole = dice.pick(world.keys(.part)),
        !world.isPiece(whole, of: key)
      else { return }
      log("whole of \(key): \(whole)")
      if dice.isOne(in: 2) {
        try part(key).whole = try part(whole)
      } else {
        try part(whole).add(try part(key), to: \.pieces)
      }
      world.parts[key]?.whole = whole
    } else {
      guard let key = dice.pick(world.keys(.group)), let other = dice.pick(world.keys(.label)), !isNew(other)
      else { return }
      log("labels of group \(key): + \(other)")
      let group: Group = try object(key)
      if dice.isOne(in: 2), world.groups[key]?.contains(other) == false {
        group.add(try label(other), to: \.labels)
      } else {
        try label(other).groups.insert(group)
      }
      world.groups[key]?.insert(other)
    }
  }

  private func movePaper() throws {
    guard let key = dice.pick(world.keys(.paper)), let owner = dice.pick(world.keys(.maker)) else { return }
    log("owner of paper \(key): \(owner)")
    let paper: Paper = try object(key)
    paper.owner = try maker(owner)
    world.papers[key] = .some(owner)
  }

  // MARK: Deleting and taking back

  private func delete() throws {
    guard let kind = dice.pick(World.Kind.allCases), let key = dice.pick(world.keys(kind)) else { return }
    let object: ManagedObject
    switch kind {
    case .maker:
      // The deletion of a new object is denied at once, as an error that is noted.
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

  private func rollBack() {
    guard dice.isOne(in: 3) else { return }
    log("roll back")
    context.rollback()
    (world, isDirty, objects) = (saved, false, [:])
  }

  /// Puts right what is broken: all of it, or some.
  func putRight(all: Bool) throws {
    log(all ? "put right all" : "put right some")
    isDirty = true
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
