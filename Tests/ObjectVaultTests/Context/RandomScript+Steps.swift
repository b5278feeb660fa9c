// The steps of the random script: the choice of the next step, new objects, and values. Relationships are
// in RandomScript+Relationships, and deletions, rollbacks and repairs are in RandomScript+Deletions.

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

  // MARK: New objects

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

  /// Inserts a maker with members, sometimes with another new object inside, and sometimes with an error
  /// at the end.
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
      // The part that was given to the maker has no owner now.
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
      isInside = true
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
    try label(key).name = name
    world.labels[key] = .some(name)
  }

  private func swapCodes() throws {
    let makers = world.keys(.maker).filter { world.makers[$0]?.code != nil }
    guard makers.count > 2, let one = dice.pick(makers), let two = dice.pick(makers), one != two,
      let first = world.makers[one]?.code, let second = world.makers[two]?.code
    else { return }
    log("swap the codes of \(one) and \(two)")
    isInside = true
    try maker(one).code = second
    try look()
    isInside = false
    try maker(two).code = first
    world.makers[one]?.code = second
    world.makers[two]?.code = first
  }
}
