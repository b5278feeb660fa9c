// The checks that the Swift types of a schema add to the types of its model.

extension Schema {
  /// The check by the Swift type that reads a value, keyed by `Entity.property`.
  var readers: [String: ValueReader] {
    var readers: [String: ValueReader] = [:]
    for (entity, binding) in bindings {
      for property in binding.propertyNames {
        readers["\(entity).\(property)"] = binding.reader(of: property)
      }
    }
    return readers
  }

  /// A check that includes what the Swift types can read.
  var typeCheck: TypeCheck { TypeCheck(model: self, readers: readers) }
}
