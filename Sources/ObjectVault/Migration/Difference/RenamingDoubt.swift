// A former name that a class declares although the renaming may have been done already. The type states
// the advice for authors of steps, and for programs that let the opening of a store make the steps.

/// A class declares a former name for itself or for a property, but the steps have both names.
package struct RenamingDoubt: Sendable, Hashable {
  /// The declared renaming. A renaming of a property has the present name of its class.
  package let renaming: MigrationRenaming

  /// The advice for an author of steps, which is to state ``MigrationRenaming``s.
  package var note: String {
    "\(question(of: "the steps have")) if not, state each renaming that is still to be made"
  }

  /// Returns the advice for a program without its own steps. It cannot state a ``MigrationRenaming``, so
  /// a renaming that is still to be made needs a step of its own.
  /// - Parameter both: The subject of the sentence, such as `the store has`.
  func reason(of both: String) -> String {
    "\(question(of: both)) if not, rename it in a step of your own"
  }

  private func question(of both: String) -> String {
    "\(renaming.newPath) declares the former name \(renaming.oldPath), but \(both) both. If the renaming is "
      + "done, remove .renamed(from: \"\(renaming.oldName)\") from the "
      + "\(renaming.isOfEntity ? "schema" : "class");"
  }
}
