// The hooks of ManagedObject as a set. ClassHooks+Detection finds out which of them a class overrides.

/// Hooks of ``ManagedObject``.
package struct ClassHooks: OptionSet, Sendable {
  package let rawValue: UInt16

  package init(rawValue: UInt16) { self.rawValue = rawValue }

  package static let awakeFromInsert = ClassHooks(rawValue: 1)
  package static let awakeFromFetch = ClassHooks(rawValue: 2)
  package static let willSave = ClassHooks(rawValue: 4)
  package static let didSave = ClassHooks(rawValue: 8)
  package static let prepareForDeletion = ClassHooks(rawValue: 16)
  package static let validateForInsert = ClassHooks(rawValue: 32)
  package static let validateForUpdate = ClassHooks(rawValue: 64)
  package static let validateForDelete = ClassHooks(rawValue: 128)

  static let validating: ClassHooks = [.validateForInsert, .validateForUpdate, .validateForDelete]
  /// Those that are called before a save writes.
  static let beforeSave: ClassHooks = validating.union([.willSave, .prepareForDeletion])
}
