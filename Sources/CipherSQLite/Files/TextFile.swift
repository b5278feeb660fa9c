// Texts that others read by name, such as the sources that a tool generates: written as databases and key files are (NewFile),
// so that whoever stops the writing leaves the former text or the new one, and beside it nothing that nobody knows.

private import Foundation

package enum TextFile {
  /// Puts a text in the place of a file, or of nothing, in one step that is done or not done. Through a link, which stays one.
  /// A file that is there keeps its mode; a new one has that of any new file of this process.
  /// - Throws: As ``NewFile``; ``SQLError/pathUnusable(file:reason:)``.
  package static func write(_ bytes: [UInt8], to path: String) throws {
    let target = try DatabasePath(path)
    let old = FileStatus(target.path)
    try NewFile(at: target, isPrivate: false).sealed(holding: bytes).replaceText(old)
  }

  /// Makes a file of a text where nothing has its name, in one step that is done or not done.
  /// - Throws: As ``NewFile``; ``SQLError/alreadyExists(file:)``, ``SQLError/pathUnusable(file:reason:)``.
  package static func create(_ bytes: [UInt8], at path: String) throws {
    try NewFile(at: DatabasePath(path), isPrivate: false).sealed(holding: bytes).publish()
  }

  /// Removes what a process has left in a folder that was killed while it wrote there. A name that is not ours stays.
  package static func sweep(_ folder: String) { Leftovers.sweep(folder) }
}
