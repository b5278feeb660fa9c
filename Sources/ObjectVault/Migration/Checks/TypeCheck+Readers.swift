// What the Swift types of a schema take beyond the types of its model.

extension Schema {
  /// What a value is checked with by the Swift type that reads it, by `Entity.property`.
  var readers: [String: ValueReader] {
    var readers: [String: ValueReader] = [:]
    for (entity, binding) in bindings {
      for property in binding.propertyNames {
        readers["\(entity).\(property)"] = binding.reader(of: property)
      }
    }
    return readers
  }

  /// Compares values with what the Swift types can read.
  var typeCheck: TypeCheck { TypeCheck(model: self, readers: readers) }
}
