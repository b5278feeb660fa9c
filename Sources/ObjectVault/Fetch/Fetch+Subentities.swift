// Whether a fetch includes objects of subentities.

extension Fetch {
  /// Sets whether objects of subentities are included. By default they are.
  ///
  /// ```swift
  /// let people = try context.fetch(Person.self).all()
  /// let others = try context.fetch(Person.self)
  ///   .includingSubentities(false)
  ///   .all()
  /// ```
  ///
  /// An employee is a person: the first fetch finds employees, as objects of their own class; the second
  /// one finds only persons of no subentity. For an entity without subentities both find the same
  /// objects.
  /// - Parameter isIncluding: Whether to include objects of subentities.
  /// - Returns: The fetch with the setting.
  public func includingSubentities(_ isIncluding: Bool) -> Fetch {
    var copy = self
    copy.parameters.includesSubentities = isIncluding
    return copy
  }
}
