// Which hooks of ManagedObject a class overrides. Hooks that no class overrides cost nothing: fetches and
// saves do not call them, and a save need not read the rows that delete rules delete.

extension ClassHooks {
  // Swift has no call that tells whether a method is overridden. But the metadata of a class has the
  // addresses of its methods, and those of ManagedObject are at the same place in all subclasses. The place
  // of each hook is found by a class that overrides only this hook. If the metadata is not as expected, all
  // hooks count as overridden, and are called without need.
  //
  // Safe: each read is inside the metadata of a class. Its size is part of it, and is only used if it is
  // equal in ManagedObject and in all classes below, which add nothing, and is plausible.
  /// Returns the hooks that a class or one of its superclasses overrides.
  package static func overridden(by type: ManagedObject.Type) -> ClassHooks {
    if type == DynamicObject.self { return [] }
    var found: ClassHooks = []
    for (hook, place) in places {
      guard let place else { return ClassHooks(rawValue: .max) }
      if word(place, of: type) != word(place, of: ManagedObject.self) { found.insert(hook) }
    }
    return found
  }

  /// The place of each hook in the metadata, in words; nil if it was not found.
  private static let places: [(hook: ClassHooks, place: Int?)] = {
    let probes: [(hook: ClassHooks, type: ManagedObject.Type)] = [
      (.awakeFromInsert, InsertProbe.self), (.awakeFromFetch, FetchProbe.self),
      (.willSave, WillSaveProbe.self), (.didSave, DidSaveProbe.self),
      (.prepareForDeletion, DeletionProbe.self), (.validateForInsert, InsertCheckProbe.self),
      (.validateForUpdate, UpdateCheckProbe.self), (.validateForDelete, DeleteCheckProbe.self),
    ]
    let types = [ManagedObject.self, PlainProbe.self] + probes.map(\.type)
    let count = wordCount(of: ManagedObject.self)
    guard (8...4096).contains(count), types.allSatisfy({ wordCount(of: $0) == count }) else {
      return probes.map { ($0.hook, nil) }
    }
    return probes.map { probe in
      let different = (0..<count).filter { place in
        let own = word(place, of: ManagedObject.self)
        return word(place, of: PlainProbe.self) == own && word(place, of: probe.type) != own
      }
      return (probe.hook, different.count == 1 ? different[0] : nil)
    }
  }()

  /// The number of words after the address point of the metadata of a class.
  private static func wordCount(of type: ManagedObject.Type) -> Int {
    #if _runtime(_ObjC)
      let flags = 40
    #else
      let flags = 16
    #endif
    let metadata = unsafe unsafeBitCast(type, to: UnsafeRawPointer.self)
    let size = unsafe metadata.load(fromByteOffset: flags + 16, as: UInt32.self)
    let addressPoint = unsafe metadata.load(fromByteOffset: flags + 20, as: UInt32.self)
    return (Int(size) - Int(addressPoint)) / MemoryLayout<UInt>.size
  }

  private static func word(_ place: Int, of type: ManagedObject.Type) -> UInt {
    let metadata = unsafe unsafeBitCast(type, to: UnsafeRawPointer.self)
    return unsafe metadata.load(fromByteOffset: place * MemoryLayout<UInt>.size, as: UInt.self)
  }
}

private final class PlainProbe: ManagedObject {}
private final class InsertProbe: ManagedObject { override func awakeFromInsert() {} }
private final class FetchProbe: ManagedObject { override func awakeFromFetch() {} }
private final class WillSaveProbe: ManagedObject { override func willSave() {} }
private final class DidSaveProbe: ManagedObject { override func didSave() {} }
private final class DeletionProbe: ManagedObject { override func prepareForDeletion() {} }
private final class InsertCheckProbe: ManagedObject { override func validateForInsert() throws {} }
private final class UpdateCheckProbe: ManagedObject { override func validateForUpdate() throws {} }
private final class DeleteCheckProbe: ManagedObject { override func validateForDelete() throws {} }
