// A former name that a class tells and nobody can tell from one that has served: what to do of it, for who writes steps and
// for who lets opening make them.

/// That a class says of its own name, or of that of a property, that it was another one, and both are there.
package struct RenamingDoubt: Sendable, Hashable {
  /// What the class says; a property by the name of its class.
  package let renaming: MigrationRenaming

  /// For an author of steps, who can answer with ``MigrationRenaming``s.
  package var note: String {
    "\(question(of: "the steps have")) where not, say so for each that is called otherwise now"
  }

  /// For a program without steps of its own, which has nothing to answer with but its classes.
  /// - Parameter both: Who has both names.
  func reason(of both: String) -> String {
    "\(question(of: both)) where not, rename it by a step of your own"
  }

  private func question(of both: String) -> String {
    "\(renaming.newPath) says that it was \(renaming.oldPath), and \(both) both. Where that has been done, take "
      + ".renamed(from: \"\(renaming.oldName)\") out of the \(renaming.isOfEntity ? "schema" : "class");"
  }
}
