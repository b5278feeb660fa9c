// Which objects a fetch finds where other entities stand below the one that it asks for.

extension Fetch {
  /// Whether objects of the entities below are found, too, which they are unless this is called with `false`.
  ///
  /// ```swift
  /// let people = try context.fetch(Person.self).all()
  /// let others = try context.fetch(Person.self)
  ///   .includingSubentities(false)
  ///   .all()
  /// ```
  ///
  /// An employee is a person: the first fetch finds employees as objects of their own class, the second one persons that
  /// are nothing else. Of an entity without others below, both find the same.
  public func includingSubentities(_ isIncluding: Bool) -> Fetch {
    var copy = self
    copy.parameters.includesSubentities = isIncluding
    return copy
  }
}
