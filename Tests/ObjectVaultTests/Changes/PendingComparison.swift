// Compares the changes that were pending before a save with those of its commit. They are equal, except
// for ids and for the additional changes of delete rules. The keys of the random model identify the
// objects.

import CipherSQLite
import ObjectVault

struct PendingComparison {
  private struct Place: Hashable {
    let entity: String
    let rowID: Int64
  }

  private let pending: ChangeSet
  private let told: ChangeSet
  /// The ids that the save assigned to new objects.
  private let ids: [Place: Int64]
  private let deleted: Set<Place>

  init(_ pending: ChangeSet, _ told: ChangeSet) {
    (self.pending, self.told) = (pending, told)
    var byKey: [String: Int64] = [:]
    for row in told.inserted { byKey["\(row.entity) \(row.values["key"] ?? .null)"] = row.rowID }
    ids = Dictionary(
      uniqueKeysWithValues: pending.inserted.compactMap { row in
        byKey["\(row.entity) \(row.values["key"] ?? .null)"].map {
          (Place(entity: row.entity, rowID: row.rowID), $0)
        }
      })
    deleted = Set(told.deleted.map { Place(entity: $0.entity, rowID: $0.rowID) })
  }

  var differences: [String] { inserted + updated + deletions + links }

  /// The id of a row after the save, or nil if a delete rule has deleted the row.
  private func final(_ entity: String, _ rowID: Int64) -> Int64? {
    if rowID < 0 { return ids[Place(entity: entity, rowID: rowID)] }
    return deleted.contains(Place(entity: entity, rowID: rowID)) ? nil : rowID
  }

  /// The value of a property after the save. A to-one whose target a delete rule has deleted becomes
  /// null.
  private func final(_ value: SQLValue, in entity: String, property: String) -> SQLValue {
    guard case .integer(let rowID) = value,
      let destination = randomModel.entity(named: entity)?.relationship(named: property)?.destination
    else { return value }
    return final(destination, rowID).map { .integer($0) } ?? .null
  }

  /// Whether a to-one refers to an object whose deletion is pending.
  private func namesDeleted(_ entity: String, _ values: ChangeSet.Values) -> Bool {
    values.contains { property, value in
      guard let destination = randomModel.entity(named: entity)?.relationship(named: property)?.destination
      else { return false }
      return pending.deleted.contains { $0.entity == destination && .integer($0.rowID) == value }
    }
  }

  private var inserted: [String] {
    var found: [String] = []
    for row in pending.inserted {
      if namesDeleted(row.entity, row.values) { found.append("\(row.entity) \(row.rowID) names what goes") }
      // A new object without an id was deleted with its owner.
      guard let id = final(row.entity, row.rowID) else { continue }
      var values: ChangeSet.Values = [:]
      for (name, value) in row.values { values[name] = final(value, in: row.entity, property: name) }
      let saved = told.inserted.first { $0.entity == row.entity && $0.rowID == id }?.values
      if saved != values.filter({ !$0.value.isNull }) {
        found.append("\(row.entity) \(row.rowID) has other values")
      }
    }
    if told.inserted.count != ids.count { found.append("more was inserted than was pending") }
    if pending.deleted.isEmpty, ids.count != pending.inserted.count { found.append("not all was inserted") }
    return found
  }

  private var updated: [String] {
    var found: [String] = []
    for row in pending.updated {
      if namesDeleted(row.entity, row.new) { found.append("\(row.entity) \(row.rowID) names what goes") }
      guard final(row.entity, row.rowID) != nil else { continue }
      let saved = told.updated.first { $0.entity == row.entity && $0.rowID == row.rowID }
      for (name, value) in row.new {
        let (old, new) = (row.old[name] ?? .null, final(value, in: row.entity, property: name))
        if old == new, saved?.new[name] == nil { continue }
        if saved?.new[name] != new || saved?.old[name] != old {
          found.append("\(row.entity) \(row.rowID).\(name)")
        }
      }
    }
    for row in told.updated {
      let known = pending.updated.first { $0.entity == row.entity && $0.rowID == row.rowID }?.new ?? [:]
      for (name, value) in row.new where known[name] == nil {
        // A delete rule has set it to nil.
        let isToOne = randomModel.entity(named: row.entity)?.relationship(named: name) != nil
        if !isToOne || !value.isNull { found.append("\(row.entity) \(row.rowID).\(name) was not pending") }
      }
    }
    return found
  }

  private var deletions: [String] {
    pending.deleted.compactMap { row in
      let saved = told.deleted.first { $0.entity == row.entity && $0.rowID == row.rowID }
      // The values of a fault are unknown.
      return saved == nil || !row.values.isEmpty && saved != row
        ? "\(row.entity) \(row.rowID) is not gone so" : nil
    }
  }

  private var links: [String] {
    func final(_ link: ChangeSet.Link) -> ChangeSet.Link? {
      guard
        let destination = randomModel.entity(named: link.entity)?.relationship(named: link.relationship)?
          .destination, let source = self.final(link.entity, link.source),
        let target = self.final(destination, link.target)
      else { return nil }
      return ChangeSet.Link(
        entity: link.entity, relationship: link.relationship, source: source, target: target)
    }
    let (linked, unlinked) = (Set(pending.linked.compactMap(final)), Set(pending.unlinked.compactMap(final)))
    let isGone = { (link: ChangeSet.Link) in
      let destination = randomModel.entity(named: link.entity)?.relationship(named: link.relationship)
      return deleted.contains(Place(entity: link.entity, rowID: link.source))
        || deleted.contains(Place(entity: destination?.destination ?? "", rowID: link.target))
    }
    let named = pending.linked.filter { link in
      let destination = randomModel.entity(named: link.entity)?.relationship(named: link.relationship)
      return pending.deleted.contains {
        ($0.entity, $0.rowID) == (link.entity, link.source)
          || ($0.entity, $0.rowID) == (destination?.destination ?? "", link.target)
      }
    }
    return named.map { "a link names what goes: \($0)" }
      + told.linked.filter { !linked.contains($0) }.map { "a link that was not pending: \($0)" }
      + told.unlinked.filter { !unlinked.contains($0) && !isGone($0) }.map {
        "an end that was not pending: \($0)"
      }
  }
}
