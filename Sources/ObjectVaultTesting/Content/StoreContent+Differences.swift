// What differs between two contents, in sentences: rows that are gone, values that are others, links that are missing.

internal import CipherSQLite
internal import Foundation
internal import ObjectVault

extension StoreContent {
  /// What is not as it was, a sentence each; empty when both hold the same.
  /// - Parameters:
  ///   - former: The content before.
  ///   - showsValues: Whether values stand in the sentences. Those of a real store may be secret.
  public func differences(from former: StoreContent, showsValues: Bool = true) -> [String] {
    ContentComparison(former, self, names: nil, showsValues: showsValues).differences
  }
}

extension StoreContent {
  /// The first of some rows, by their ids.
  static func listed(_ rows: some Collection<Int64>) -> String {
    (rows.count == 1 ? "row " : "rows ") + rows.sorted().prefix(5).map(String.init).joined(separator: ", ")
      + (rows.count > 5 ? " and more" : "")
  }
}

/// Compares what was in a store with what became of it.
struct ContentComparison {
  private let before: StoreContent
  private let after: StoreContent
  /// What became of names; nil when they are the same.
  private let names: NameTrail?
  private let showsValues: Bool
  /// Entities, by either name, whose rows may become fewer.
  private let mayLose: Set<String>

  init(
    _ before: StoreContent, _ after: StoreContent, names: NameTrail?, showsValues: Bool = true,
    mayLose: Set<String> = []
  ) {
    (self.before, self.after, self.names) = (before, after, names)
    (self.showsValues, self.mayLose) = (showsValues, mayLose)
  }

  /// What differs. With names that steps have changed, rows may be added, values may change that a step computed anew,
  /// and what was dropped is not asked for.
  var differences: [String] {
    var lines: [String] = []
    for (entity, rows) in before.objects.sorted(by: { $0.key < $1.key }) {
      guard let final = finalName(of: entity) else { continue }
      lines += lost(entity, final, rows)
      for (property, finalProperty) in properties(of: entity) {
        lines += changed(entity, property, final, finalProperty, rows)
      }
    }
    if names == nil { lines += added }
    return lines + missingLinks + otherOrders
  }

  /// Members that stand in another order. Who came, and who went, is told by their objects and links.
  private var otherOrders: [String] {
    before.orders.sorted { $0.key < $1.key }.compactMap { name, members in
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      guard parts.count == 2, let final = finalName(of: parts[0]) else { return nil }
      let property = names == nil ? parts[1] : names?.keptProperties(of: parts[0])[parts[1]]
      guard let property, let now = after.orders["\(final).\(property)"] else { return nil }
      let others = members.filter { owner, list in
        let (left, new) = (now[owner] ?? [], Set(now[owner] ?? []))
        let both = Set(list).intersection(new)
        return list.filter(both.contains) != left.filter(both.contains)
      }
      guard !others.isEmpty else { return nil }
      return
        "\(called(name, "\(final).\(property)")): the members of \(counted(others.count, "object")) are in another order "
        + "(\(listed(others.keys.sorted())))"
    }
  }

  private func finalName(of entity: String) -> String? {
    guard let names else { return entity }
    return names.entities[entity]
  }

  /// The properties that are to hold what they held, with their names now.
  private func properties(of entity: String) -> [(String, String)] {
    guard let names else {
      let all =
        (before.objects[entity] ?? [:]).values.flatMap(\.keys)
        + (after.objects[entity] ?? [:]).values.flatMap(\.keys)
      return Set(all).sorted().map { ($0, $0) }
    }
    return names.keptProperties(of: entity).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func lost(_ entity: String, _ final: String, _ rows: [Int64: StoreContent.Values]) -> [String] {
    guard !mayLose.contains(entity), !mayLose.contains(final) else { return [] }
    let left = after.objects[final] ?? [:]
    let gone = rows.keys.filter { left[$0] == nil }.sorted()
    guard !gone.isEmpty else { return [] }
    return [
      "\(called(entity, final)): \(gone.count) of \(counted(rows.count, "row")) \(gone.count == 1 ? "is" : "are") gone "
        + "(\(listed(gone)))"
    ]
  }

  private func changed(
    _ entity: String, _ property: String, _ final: String, _ finalProperty: String,
    _ rows: [Int64: StoreContent.Values]
  ) -> [String] {
    let left = after.objects[final] ?? [:]
    let other = rows.filter { id, values in
      guard let now = left[id] else { return false }
      return !(values[property] ?? .null).isSame(as: now[finalProperty] ?? .null)
    }
    guard let first = other.keys.min() else { return [] }
    let shown =
      showsValues
      ? ": \(ShownChange(former: rows[first]?[property] ?? .null, now: left[first]?[finalProperty] ?? .null))"
      : " (\(listed(other.keys.sorted())))"
    return [
      "\(called("\(entity).\(property)", "\(final).\(finalProperty)")): \(other.count) of \(counted(rows.count, "value")) "
        + "\(other.count == 1 ? "is another" : "are others")"
        + (showsValues ? ", the first in row \(first)" : "") + shown
    ]
  }

  private var added: [String] {
    after.objects.sorted { $0.key < $1.key }.compactMap { entity, rows in
      let new = rows.keys.filter { before.objects[entity]?[$0] == nil }.sorted()
      return new.isEmpty
        ? nil : "\(entity): \(counted(new.count, "row is", "rows are")) new (\(listed(new)))"
    }
  }

  private var missingLinks: [String] {
    before.links.sorted { $0.key < $1.key }.flatMap { name, links -> [String] in
      let parts = name.split(separator: ".").map(String.init)
      guard parts.count == 2, let final = finalName(of: parts[0]),
        let property = names == nil ? parts[1] : names?.keptProperties(of: parts[0])[parts[1]],
        let left = after.links["\(final).\(property)"]
      else { return [] }
      // With the rows at their ends, links may go too.
      let gone = links.subtracting(left).filter {
        (after.objects[final]?[$0.source] != nil || mayLose.isDisjoint(with: [parts[0], final]))
          && !isDropped($0, of: name)
      }
      let new = names == nil ? left.subtracting(links) : []
      let called = called(name, "\(final).\(property)")
      return
        (gone.isEmpty
        ? []
        : [
          "\(called): \(gone.count) of \(counted(links.count, "link")) \(gone.count == 1 ? "is" : "are") gone (\(listed(gone)))"
        ])
        + (new.isEmpty
          ? [] : ["\(called): \(counted(new.count, "link is", "links are")) new (\(listed(new)))"])
    }
  }

  /// Whether one of a link's ends was an object of an entity that is there no more, below the one that has the relationship
  /// or is its destination: the relationship itself is still there then.
  private func isDropped(_ link: StoreContent.Link, of name: String) -> Bool {
    guard names != nil, let entities = before.linkEntities[name] else { return false }
    func isDropped(_ id: Int64, _ branch: [String]) -> Bool {
      branch.contains { before.objects[$0]?[id] != nil && finalName(of: $0) == nil }
    }
    return isDropped(link.source, entities.sources) || isDropped(link.target, entities.targets)
  }

  // MARK: Words

  private func called(_ name: String, _ final: String) -> String {
    name == final ? name : "\(name), now \(final)"
  }

  private func listed(_ rows: [Int64]) -> String { StoreContent.listed(rows) }

  private func listed(_ links: Set<StoreContent.Link>) -> String {
    let sorted = links.sorted { ($0.source, $0.target) < ($1.source, $1.target) }
    return sorted.prefix(5).map { "\($0.source) to \($0.target)" }.joined(separator: ", ")
      + (links.count > 5 ? " and more" : "")
  }
}

extension SQLValue {
  /// Whether both are one value. A column that holds numbers gives a whole one as either kind; of texts the bytes count, as
  /// Swift finds some equal that differ in them.
  fileprivate func isSame(as other: SQLValue) -> Bool {
    switch (self, other) {
    case (.integer(let whole), .real(let number)), (.real(let number), .integer(let whole)):
      Int64(exactly: number) == whole
    case (.text(let text), .text(let other)): text.utf8.elementsEqual(other.utf8)
    default: self == other
    }
  }
}
