// The checks that the Swift types of a schema add to the types of its model.

extension Schema {
  /// The checks by the Swift types that read the values, keyed by `Entity.property`.
  var readers: [String: ValueReader] {
    var readers: [String: ValueReader] = [:]
    for (entity, binding) in bindings {
      for property in binding.propertyNames {
        readers["\(entity).\(property)"] = binding.reader(of: property)
      }
    }
    return readers
  }

  /// The check by the model's types and by the Swift types.
  var typeCheck: TypeCheck { TypeCheck(model: self, readers: readers) }
}
