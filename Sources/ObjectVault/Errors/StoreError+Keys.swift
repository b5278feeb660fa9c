// The text of an error about attributes that do not identify an object.

extension StoreError {
  /// Returns the description of ``notUnique(entity:properties:keys:)``.
  static func notUnique(_ entity: String, _ properties: [String], keys: [String]) -> String {
    let isOne = properties.count == 1
    let paths = properties.map { "\\.\($0)" }.joined(separator: ", ")
    return "\(entity).\(properties.joined(separator: ", ")) \(isOne ? "is" : "are") not unique, so several "
      + "objects may have the same value. "
      + (keys.isEmpty
        ? "\(entity) has no unique attribute. " : "Unique in \(entity): \(keys.joined(separator: "; ")). ")
      + (keys.isEmpty ? "Declare " : "Use one of these, or declare ")
      + (isOne ? "@Attribute(.unique)" : "Entity(\(entity).self).unique(\(paths))")
      + " and write the migration step."
  }
}
