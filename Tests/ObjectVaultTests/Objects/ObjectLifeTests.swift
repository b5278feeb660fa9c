// What an object answers in each of its states: a cell for each state and each access, as in the table of the
// page about contexts.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

private final class LifeUser: ManagedObject {
  @Attribute var name: String
  @ToOne var friend: LifeUser?
  @ToMany(inverse: \LifeStatus.user, onDelete: .cascade) var statuses: Set<LifeStatus>
}

private final class LifeStatus: ManagedObject {
  @Attribute var text: String
  @ToOne var user: LifeUser?
}

@Suite(.serialized) struct ObjectLife {
  /// The result of each access, and the errors that it reports: in the context, or without one.
  private static let table = """
    draft           | get A | set Z | to-one nil | to-many 0 | add 1 | delete noContext | load noContext | refresh detached | id none | text (new)
    new             | get A | set Z | to-one F | to-many 1 | add 2 | delete | load | refresh inserted | id temporary | text (new)
    clean           | get A | set Z | to-one F | to-many 1 | add 2 | delete | load | refresh fault | id final | text 2
    changed         | get B | set Z | to-one F | to-many 1 | add 2 | delete | load | refresh fault | id final | text 2 (changed: name)
    deleted         | get A | set A objectGone | to-one F | to-many 1 | add 1 objectGone | delete | load | refresh deleted | id final | text 2 (deleted)
    deletion saved  | get objectGone | set objectGone, objectGone | to-one nil objectGone | to-many 0 objectGone | add 0 objectGone, objectGone | delete objectGone | load objectGone | refresh invalid | id final | text 2 (invalid)
    gone elsewhere  | get A | set A objectGone | to-one nil objectGone | to-many 0 objectGone | add 0 objectGone, objectGone | delete | load objectGone | refresh fault | id final | text 2 (invalid)
    rolled back     | get objectGone | set objectGone, objectGone | to-one nil objectGone | to-many 0 objectGone | add 0 objectGone, objectGone | delete | load objectGone | refresh invalid | id temporary | text (new, invalid)
    store closed    | get A | set Z | to-one F | to-many 1 | add 2 | delete | load | refresh fault | id final | text 2
    closed, a fault | get closed | set closed, closed | to-one nil closed | to-many 0 closed | add 0 closed | delete | load closed | refresh fault | id final | text 2 (fault)
    context gone    | get A | set A noContext | to-one nil noContext | to-many 0 noContext | add 0 noContext, noContext | delete noContext | load noContext | refresh invalid | id final | text 2 (invalid)
    """

  private static let accesses = [
    "get", "set", "to-one", "to-many", "add", "delete", "load", "refresh", "id", "text",
  ]

  @Test func `each access to an object in each state has a result or an error that tells why`() async throws {
    let reported = Locked<[String]>([])
    ObjectContext.onStrayError = { error in reported.withLock { $0.append(Self.kind(error)) } }
    defer { ObjectContext.onStrayError = nil }
    for line in Self.table.split(separator: "\n") {
      let state = line.split(separator: "|")[0].trimmingCharacters(in: .whitespaces)
      var cells: [String] = []
      for access in Self.accesses { cells.append(try await Self.cell(state, access, reported)) }
      let expected = line.split(separator: "|").dropFirst().map { $0.trimmingCharacters(in: .whitespaces) }
      #expect(cells == expected, "\(state)")
    }
  }

  private static func kind(_ error: any Error) -> String {
    switch error {
    case StoreError.objectGone: "objectGone"
    case StoreError.noContext: "noContext"
    default: "\(error)".contains("closed") ? "closed" : "\(error)"
    }
  }

  private static func cell(_ state: String, _ access: String, _ reported: Locked<[String]>) async throws
    -> String
  {
    let temporary = try await TemporaryStore(
      Schema {
        Entity(LifeUser.self)
        Entity(LifeStatus.self)
      })
    let store = temporary.store
    var context: ObjectContext? = store.makeContext()
    let (object, status) = try prepared(state, in: try #require(context), store)
    if state == "context gone" { context = nil }
    reported.withLock { $0 = [] }
    var (result, errors): (String, [String]) = ("", [])
    switch access {
    case "get": result = object.name
    case "set":
      object.name = "Z"
      result = object.name
    case "to-one": result = object.friend?.name ?? "nil"
    case "to-many": result = "\(object.statuses.count)"
    case "add":
      object.add(status, to: \.statuses)
      result = "\(object.statuses.count)"
    case "delete":
      let other = store.makeContext()
      (context ?? other).delete(object)
      errors = other.faultErrors.map(kind)
    case "refresh":
      let other = store.makeContext()
      (context ?? other).refresh(object)
      result = "\(object.objectState)"
      errors = other.faultErrors.map(kind)
    case "id": result = object.id.isTemporary ? "temporary" : object.id.rowID > 0 ? "final" : "none"
    case "text": result = "\(object)".replacingOccurrences(of: "LifeUser ", with: "")
    default: do { try object.load() } catch { errors.append(kind(error)) }
    }
    errors = (context?.faultErrors.map(kind) ?? []) + errors + reported.withLock { $0 }
    return
      ([access, result].filter { !$0.isEmpty } + (errors.isEmpty ? [] : [errors.joined(separator: ", ")]))
      .joined(separator: " ")
  }

  /// Returns an object that is in a state, and another one that can be added to it.
  private static func prepared(_ state: String, in context: ObjectContext, _ store: Store) throws
    -> (LifeUser, LifeStatus)
  {
    let friend = context.insert(LifeUser.self) { $0.name = "F" }
    let status = context.insert(LifeStatus.self) { $0.text = "S" }
    let other = context.insert(LifeStatus.self) { $0.text = "O" }
    if state == "draft" {
      let draft = LifeUser()
      draft.name = "A"
      return (draft, other)
    }
    let object = context.insert(LifeUser.self) { $0.name = "A" }
    (object.friend, status.user) = (friend, object)
    if state == "rolled back" { context.rollback() }
    if state == "new" || state == "rolled back" { return (object, other) }
    try context.save()
    _ = (object.friend, object.statuses)
    switch state {
    case "changed": object.name = "B"
    case "deleted": context.delete(object)
    case "deletion saved":
      context.delete(object)
      try context.save()
    case "gone elsewhere":
      let second = store.makeContext()
      try second.existing(object.id).map(second.delete)
      try second.save()
      context.refresh(object)
      _ = object.name
      #expect(throws: StoreError.self) { try context.save() }
    case "store closed": store.close()
    case "closed, a fault":
      context.refresh(object)
      store.close()
    default: break
    }
    return (object, other)
  }
}
