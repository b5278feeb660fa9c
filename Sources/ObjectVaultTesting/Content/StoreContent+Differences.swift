// The differences between two contents, as sentences: missing rows, changed values, missing links.

internal import CipherSQLite
internal import Foundation
internal import ObjectVault

extension StoreContent {
  /// Returns the differences from an earlier content, one sentence each; empty when both are equal.
  /// - Parameters:
  ///   - former: The earlier content.
  ///   - showsValues: Whether the sentences contain values. Those of a real store may be secret.
  public func differences(from former: StoreContent, showsValues: Bool = true) -> [String] {
    ContentComparison(from: former, to: self, names: nil, showsValues: showsValues).differences
  }
}

extension StoreContent {
  /// Returns the ids of the first of some rows, as text.
  static func listed(_ rows: some Collection<Int64>) -> String {
    (rows.count == 1 ? "row " : "rows ") + rows.sorted().prefix(5).map(String.init).joined(separator: ", ")
      + (rows.count > 5 ? " and more" : "")
  }
}

/// Compares the content of a store before and after a change.
struct ContentComparison {
  private let before: StoreContent
  private let after: StoreContent
  /// How the steps between the two contents changed the names; nil compares names as they are.
  private let names: NameHistory?
  private let showsValues: Bool
  /// The entities that may lose rows, by their former or present names.
  private let mayLose: Set<String>

  init(
    from before: StoreContent, to after: StoreContent, names: NameHistory?, showsValues: Bool = true,
    mayLose: Set<String> = []
  ) {
    (self.before, self.after, self.names) = (before, after, names)
    (self.showsValues, self.mayLose) = (showsValues, mayLose)
  }

  /// The differences, as sentences. With `names`, these are no differences: added rows and links, values
  /// that a step computed anew, and what a step dropped.
  var differences: [String] {
    var lines: [String] = []
    for (entity, rows) in before.objects.sorted(by: { $0.key < $1.key }) {
      guard let final = finalName(of: entity) else { continue }
      lines += lost(entity, now: final, rows: rows)
      for (property, finalProperty) in properties(of: entity) {
        lines += changed(entity, property: property, now: final, finalProperty: finalProperty, rows: rows)
      }
    }
    if names == nil { lines += added }
    return lines + missingLinks + changedOrders
  }

  /// Relationships whose members are in another order. Added and removed members are reported as
  /// differences of objects and links.
  private var changedOrders: [String] {
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
        "\(called(name, now: "\(final).\(property)")): the members of \(counted(others.count, "object")) are in another order "
        + "(\(listed(others.keys.sorted())))"
    }
  }

  private func finalName(of entity: String) -> String? {
    guard let names else { return entity }
    return names.entities[entity]
  }

  /// Returns the properties that have to keep their values, as pairs of former and present name.
  private func properties(of entity: String) -> [(String, String)] {
    guard let names else {
      let all =
        (before.objects[entity] ?? [:]).values.flatMap(\.keys)
        + (after.objects[entity] ?? [:]).values.flatMap(\.keys)
      return Set(all).sorted().map { ($0, $0) }
    }
    return names.keptProperties(of: entity).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func lost(_ entity: String, now final: String, rows: [Int64: StoreContent.Values]) -> [String] {
    guard !mayLose.contains(entity), !mayLose.contains(final) else { return [] }
    let left = after.objects[final] ?? [:]
    let gone = rows.keys.filter { left[$0] == nil }.sorted()
    guard !gone.isEmpty else { return [] }
    return [
      "\(called(entity, now: final)): \(gone.count) of \(counted(rows.count, "row")) "
        + "\(gone.count == 1 ? "is" : "are") missing (\(listed(gone)))"
    ]
  }

  private func changed(
    _ entity: String, property: String, now final: String, finalProperty: String,
    rows: [Int64: StoreContent.Values]
  ) -> [String] {
    let left = after.objects[final] ?? [:]
    let other = rows.filter { id, values in
      guard let now = left[id] else { return false }
      return !(values[property] ?? .null).isSame(as: now[finalProperty] ?? .null)
    }
    guard let first = other.keys.min() else { return [] }
    let shown =
      showsValues
      ? ": \(ValueChange(former: rows[first]?[property] ?? .null, now: left[first]?[finalProperty] ?? .null))"
      : " (\(listed(other.keys.sorted())))"
    return [
      "\(called("\(entity).\(property)", now: "\(final).\(finalProperty)")): \(other.count) of \(counted(rows.count, "value")) "
        + "\(other.count == 1 ? "differs" : "differ")"
        + (showsValues ? ", the first in row \(first)" : "") + shown
    ]
  }

  private var added: [String] {
    after.objects.sorted { $0.key < $1.key }.compactMap { entity, rows in
      let new = rows.keys.filter { before.objects[entity]?[$0] == nil }.sorted()
      return new.isEmpty
        ? nil : "\(entity): \(counted(new.count, "row is", plural: "rows are")) new (\(listed(new)))"
    }
  }

  private var missingLinks: [String] {
    before.links.sorted { $0.key < $1.key }.flatMap { name, links -> [String] in
      let parts = name.split(separator: ".").map(String.init)
      guard parts.count == 2, let final = finalName(of: parts[0]),
        let property = names == nil ? parts[1] : names?.keptProperties(of: parts[0])[parts[1]],
        let left = after.links["\(final).\(property)"]
      else { return [] }
      // A link may be lost with its source, if that may be lost, and with an object of a dropped entity.
      let gone = links.subtracting(left).filter {
        (after.objects[final]?[$0.source] != nil || mayLose.isDisjoint(with: [parts[0], final]))
          && !isDropped($0, of: name)
      }
      let new = names == nil ? left.subtracting(links) : []
      let called = called(name, now: "\(final).\(property)")
      return
        (gone.isEmpty
        ? []
        : [
          "\(called): \(gone.count) of \(counted(links.count, "link")) \(gone.count == 1 ? "is" : "are") "
            + "missing (\(listed(gone)))"
        ])
        + (new.isEmpty
          ? [] : ["\(called): \(counted(new.count, "link is", plural: "links are")) new (\(listed(new)))"])
    }
  }

  /// Returns whether an object at one end of a link was of an entity that was dropped. The relationship
  /// itself still exists when the dropped entity is a subentity of its source or destination.
  private func isDropped(_ link: StoreContent.Link, of name: String) -> Bool {
    guard names != nil, let entities = before.linkEntities[name] else { return false }
    func isDropped(_ id: Int64, _ branch: [String]) -> Bool {
      branch.contains { before.objects[$0]?[id] != nil && finalName(of: $0) == nil }
    }
    return isDropped(link.source, entities.sources) || isDropped(link.target, entities.targets)
  }

  // MARK: Texts

  private func called(_ name: String, now final: String) -> String {
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
  /// Returns whether two values are equal. A numeric column may return a whole number as an integer or as
  /// a real. Texts are compared by their bytes, because Swift treats canonically equivalent texts as
  /// equal.
  fileprivate func isSame(as other: SQLValue) -> Bool {
    switch (self, other) {
    case (.integer(let whole), .real(let number)), (.real(let number), .integer(let whole)):
      Int64(exactly: number) == whole
    case (.text(let text), .text(let other)): text.utf8.elementsEqual(other.utf8)
    default: self == other
    }
  }
}
