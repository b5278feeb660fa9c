// A key path to property names: the path is applied to a prototype whose getters note their slots.
// Works for every key path, through relationships too; the printed form of a key path is never looked at.

internal import CipherSQLite
private import Foundation

enum KeyPathResolver {
  /// The name under which `\.id` is noted.
  static let idName = "id"

  // Safe to share: a key path is immutable; the wrapper only says so to the compiler.
  private struct Path: Hashable, @unchecked Sendable { let keyPath: AnyKeyPath }
  private static let known = Locked<[Path: [String]]>([:])

  /// The names of the properties along a key path from a managed object, such as `["user", "name"]`.
  /// Empty when the key path leads to something that is no declared property, or begins at another class.
  static func names(_ keyPath: AnyKeyPath, root: ManagedObject.Type) -> [String] {
    let path = Path(keyPath: keyPath)
    if let found = known.withLock({ $0[path] }) { return found }
    let recording = Recording()
    let prototype = root.init()
    prototype.overlay = Overlay(recording: recording)
    _ = prototype[keyPath: keyPath]
    let names = recording.names
    known.withLock { $0[path] = names }
    return names
  }

  /// The same for a key path whose root the compiler knows.
  static func names<Root: ManagedObject>(_ keyPath: PartialKeyPath<Root>) -> [String] {
    names(keyPath, root: Root.self)
  }
}

/// What the getters of a prototype note.
final class Recording {
  var names: [String] = []

  func note(_ object: ManagedObject, slot: Int) {
    let properties = ClassDescription.of(type(of: object)).properties
    names.append(
      slot == Overlay.idSlot ? KeyPathResolver.idName : properties.first { $0.slot == slot }?.name ?? "?")
  }

  /// The object that a to-one of a prototype yields: another prototype, noting in the same place.
  func next(_ type: ManagedObject.Type) -> ManagedObject {
    let prototype = type.init()
    prototype.overlay = Overlay(recording: self)
    return prototype
  }
}
