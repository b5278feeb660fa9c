// The random script's changes of relationships. Each is made in one of several ways: from either end, by
// one member or by the whole set.

import ObjectVault

extension RandomScript {
  func changeParts() throws {
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

  func changeLabels() throws {
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
    // If the set is not in memory, only the ways that read it detect whether an object is a member.
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

  func changeFriends() throws {
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

  func changeBoss() throws {
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

  func changeBadge() throws {
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

  func changeTree() throws {
    if dice.isOne(in: 2) {
      // Rings are excluded, because a cascade would delete a whole ring.
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

  func movePaper() throws {
    // Prefers a paper that denies the deletion of its owner, and so repairs that.
    let papers = world.keys(.paper)
    let denying = papers.filter { (world.papers[$0] ?? nil).map { world.makers[$0] == nil } ?? false }
    guard let key = dice.pick(denying.isEmpty ? papers : denying), let owner = dice.pick(world.keys(.maker))
    else { return }
    log("owner of paper \(key): \(owner)")
    let paper: Paper = try object(key)
    paper.owner = try maker(owner)
    world.papers[key] = .some(owner)
    if mode == .writeWithFetches, !denying.isEmpty { try comparePending(context, world) }
  }
}
