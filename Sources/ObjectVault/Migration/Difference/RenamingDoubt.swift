// A former name in a class whose renaming may have been done already. The type has the advice for authors
// of steps, and for programs whose opening makes the steps.

/// A class declares a former name for itself or for a property, and the steps have both names.
package struct RenamingDoubt: Sendable, Hashable {
  /// The declared renaming; for a property with the present name of its class.
  package let renaming: MigrationRenaming

  /// The advice for an author of steps: to state ``MigrationRenaming``s.
  package var note: String {
    "\(question(of: "the steps have")) if not, state each renaming that is still to be made"
  }

  /// Returns the advice for a program without its own steps, which can change only its classes.
  /// - Parameter both: What has both names, such as `the store has`.
  func reason(of both: String) -> String {
    "\(question(of: both)) if not, rename it in a step of your own"
  }

  private func question(of both: String) -> String {
    "\(renaming.newPath) declares the former name \(renaming.oldPath), but \(both) both. If the renaming is "
      + "done, remove .renamed(from: \"\(renaming.oldName)\") from the "
      + "\(renaming.isOfEntity ? "schema" : "class");"
  }
}
