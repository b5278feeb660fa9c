// A model with every kind of relationship, delete rule and value rule, and the same model in plain Swift
// values, which have the expected result of random changes.

import Foundation
import ObjectVault

final class Maker: ManagedObject {
  @Attribute var key: Int = -1
  @Attribute(.unique) var code: Int
  @Attribute var size: Int = 0
  @ToMany(inverse: \Part.owner, onDelete: .cascade) var parts: Set<Part>
  @ToMany(inverse: \Paper.owner, onDelete: .deny) var papers: Set<Paper>
  @ToMany(inverse: \Label.makers) var labels: Set<Label>
  @ToOne var boss: Maker?
  @ToMany(inverse: \Maker.boss) var staff: Set<Maker>
  @ToMany var friends: Set<Maker>
  @ToMany(inverse: \Maker.friends) var friendOf: Set<Maker>
  @ToOne(inverse: \Badge.owner, onDelete: .cascade) var badge: Badge?
}

final class Part: ManagedObject {
  @Attribute var key: Int = -1
  @Attribute var text: String
  @Attribute var first: Int?
  @Attribute var second: Int?
  @ToOne var owner: Maker?
  @ToOne var whole: Part?
  @ToMany(inverse: \Part.whole, onDelete: .cascade) var pieces: Set<Part>
}

final class Paper: ManagedObject {
  @Attribute var key: Int = -1
  @ToOne(.required) var owner: Maker?
}

final class Label: ManagedObject {
  @Attribute var key: Int = -1
  @Attribute(.unique) var name: String
  @ToMany var makers: Set<Maker>
  @ToMany var groups: Set<Group>
}

final class Badge: ManagedObject {
  @Attribute var key: Int = -1
  @ToOne var owner: Maker?
}

final class Group: ManagedObject {
  @Attribute var key: Int = -1
  @ToMany(inverse: \Label.groups, onDelete: .cascade) var labels: Set<Label>
}

let randomModel = Schema {
  Entity(Maker.self).check(\.size, .range(0...100))
  Entity(Part.self).unique(\.first, \.second)
  Entity(Paper.self)
  Entity(Label.self)
  Entity(Badge.self)
  Entity(Group.self)
}

/// The model with a history of all entities.
let recordedModel = Schema {
  Entity(Maker.self).check(\.size, .range(0...100)).history()
  Entity(Part.self).unique(\.first, \.second).history()
  Entity(Paper.self).history()
  Entity(Label.self).history()
  Entity(Badge.self).history()
  Entity(Group.self).history()
}

/// The expected content of a store, by the keys of the objects. A required value that is not set yet is
/// nil.
struct World: Equatable {
  struct Maker: Equatable {
    var code: Int?
    var size = 0
    var boss: Int?
    var labels: Set<Int> = []
    var friends: Set<Int> = []
  }
  struct Part: Equatable {
    var text: String?
    var first: Int?
    var second: Int?
    var owner: Int?
    var whole: Int?
  }
  enum Kind: CaseIterable { case maker, part, paper, label, badge, group }

  var makers: [Int: Maker] = [:]
  var parts: [Int: Part] = [:]
  /// The owner of each paper.
  var papers: [Int: Int?] = [:]
  /// The name of each label.
  var labels: [Int: String?] = [:]
  /// The owner of each badge.
  var badges: [Int: Int?] = [:]
  /// The labels of each group.
  var groups: [Int: Set<Int>] = [:]

  func keys(_ kind: Kind) -> [Int] {
    switch kind {
    case .maker: makers.keys.sorted()
    case .part: parts.keys.sorted()
    case .paper: papers.keys.sorted()
    case .label: labels.keys.sorted()
    case .badge: badges.keys.sorted()
    case .group: groups.keys.sorted()
    }
  }

  func contains(_ key: Int) -> Bool { Kind.allCases.contains { keys($0).contains(key) } }

  /// Deletes an object and applies the delete rules of the model.
  mutating func delete(_ key: Int) {
    if makers.removeValue(forKey: key) != nil {
      for part in keys(.part) where parts[part]?.owner == key { delete(part) }
      for badge in keys(.badge) where badges[badge] == key { delete(badge) }
      for other in keys(.maker) {
        if makers[other]?.boss == key { makers[other]?.boss = nil }
        makers[other]?.friends.remove(key)
      }
    }
    if parts.removeValue(forKey: key) != nil {
      for piece in keys(.part) where parts[piece]?.whole == key { delete(piece) }
    }
    if labels.removeValue(forKey: key) != nil {
      for maker in keys(.maker) { makers[maker]?.labels.remove(key) }
      for group in keys(.group) { groups[group]?.remove(key) }
    }
    if let labels = groups.removeValue(forKey: key) { for label in labels { delete(label) } }
    papers[key] = nil
    badges[key] = nil
  }

  /// The broken rules. A save must fail if there are any.
  var problems: [String] {
    var found: [String] = []
    for (key, maker) in makers.sorted(by: { $0.key < $1.key }) {
      if maker.code == nil { found.append("maker \(key) has no code") }
      if !(0...100).contains(maker.size) { found.append("maker \(key) has size \(maker.size)") }
    }
    for (key, part) in parts where part.text == nil { found.append("part \(key) has no text") }
    for (key, owner) in papers {
      if owner.flatMap({ makers[$0] }) == nil {
        found.append("paper \(key) has no owner, or denies that it goes")
      }
    }
    for (key, name) in labels where name == nil { found.append("label \(key) has no name") }
    let pairs = parts.values.compactMap { part in part.first.flatMap { a in part.second.map { [a, $0] } } }
    if Self.hasTwice(makers.values.compactMap(\.code)) { found.append("a code is there twice") }
    if Self.hasTwice(labels.values.compactMap { $0 }) { found.append("a name is there twice") }
    if Self.hasTwice(pairs) { found.append("a pair is there twice") }
    return found
  }

  static func hasTwice(_ values: [some Hashable]) -> Bool { Set(values).count < values.count }

  /// Whether `whole` is `part` itself, or one of its pieces at any depth.
  func isPiece(_ whole: Int, of part: Int) -> Bool {
    var above: Int? = whole
    while let key = above {
      if key == part { return true }
      above = parts[key]?.whole
    }
    return false
  }
}
