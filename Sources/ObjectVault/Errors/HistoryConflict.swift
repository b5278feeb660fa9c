// Conflicts between the steps of a program and the history of a store.

private import CipherSQLite

/// A conflict between the steps of a program and the history of a store.
public enum HistoryConflict: Sendable, Hashable {
  /// A step was changed after it was applied; `difference` lists the lines that differ.
  case edited(number: Int, name: String, applied: String, found: String, difference: [String])
  /// A step in a generated `Embedded.swift` has a text that does not match its checksum.
  case misembedded(number: Int, name: String)
  /// A step ran with another text than the one that was folded into a later step: its file was edited in
  /// between.
  case refolded(number: Int, name: String, applied: String, found: String, into: Int, intoName: String)
  /// A step into which others were folded makes another model than those: its file was edited since.
  /// `difference` lists the differences.
  case foldEdited(number: Int, name: String, difference: [String])
  /// An applied step is missing from the program's steps.
  case missing(number: Int, name: String)
  /// The program's steps have another step, `found`, under the number of an applied step.
  case reordered(number: Int, applied: String, found: String)
  /// A number is missing from the steps.
  case gap(Int)
  /// There is no such version: versions go from 0 to the last step.
  case noVersion(Int, last: Int)
  /// Several steps have the same number; `files` are their files, sorted by name.
  case duplicate(number: Int, files: [String])
  /// No step continues from this version: the steps after it were folded into one, which only creates new
  /// stores. `release` is the last release that has the single steps, if one is recorded.
  case folded(version: Int, into: Int, name: String, release: String?)
}

extension HistoryConflict: CustomStringConvertible {
  /// States the conflict and what to do.
  public var description: String {
    switch self {
    case .edited(let number, let name, let applied, let found, let difference):
      "\(numbered(number)) \(name) was edited after it was applied (applied \(applied.prefix(11))…, found "
        + "\(found.prefix(11))…). Undo the edit, and put the change into a new step. If the edit is intended "
        + "and makes the same model, record the edited text (Store.repair)."
        + difference.map { "\n  \($0)" }.joined()
    case .misembedded(let number, let name):
      "\(numbered(number)) \(name) has the checksum of another text in Embedded.swift: that file was edited "
        + "or merged by hand. Generate it again from the steps."
    case .refolded(let number, let name, let applied, let found, let into, let intoName):
      "\(numbered(number)) \(name) ran with a text that differs from the one folded into "
        + "\(numbered(into)) \(intoName) (applied \(applied.prefix(11))…, folded "
        + "\(found.prefix(11))…), and its file no longer exists. Get the step files from before the "
        + "fold from version control, and record the step with the text that it has there (Store.repair)."
    case .foldEdited(let number, let name, let difference):
      "The steps up to \(numbered(number)) \(name) were folded into it, but its file no longer makes the "
        + "model that they made: \(difference.joined(separator: "; ")). Undo the edit, and put the change "
        + "into a new step."
    case .missing(let number, let name):
      "\(numbered(number)) \(name) was applied to this store but is missing from the steps. Put its file "
        + "back among the steps."
    case .reordered(let number, let applied, let found):
      "Step \(numbered(number)) of this store is \(applied), but the steps have \(found) under this number. "
        + "Applied steps keep their numbers; give the new step the next free number."
    case .noVersion(let version, let last):
      "There is no version \(version): \(version < 0 ? "the first is 0" : "the steps end with \(last)")."
    case .gap(let number):
      "Step \(numbered(number)) is missing: step numbers start at 1 and have no gaps. Put its file back. If "
        + "no store has run the steps after it, you can renumber them instead."
    case .folded(let version, let number, let name, let release):
      "No step continues from version \(version): the steps up to \(numbered(number)) \(name) were folded "
        + "into one, which can only create new stores. "
        + (release.map {
          "Open the store once with release \($0) of the app, the last one that can migrate it, then with "
            + "this one."
        }
          ?? "Get the files of those steps from version control, and migrate the store with them once.")
        + " Nothing was changed."
    case .duplicate(let number, let files):
      "Several steps have the number \(numbered(number)): \(files.joined(separator: ", ")). Give the next "
        + "free number to the one that is not released, or that is from your own branch."
    }
  }
}
