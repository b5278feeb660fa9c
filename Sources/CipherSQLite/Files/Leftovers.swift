// The names of files that are being built, and what is done about those that a killed process left. A name proves by
// itself that it is one of ours, so that a file of the user that is called alike is never touched.

private import Foundation

/// `NAME.new-` and 16 hexadecimal digits: 12 of chance, and 4 that follow from these and NAME.
package enum TemporaryName {
  private static let mark = ".new-"
  private static let digits = (random: 12, proof: 4)
  /// How much longer than the name that it stands for.
  static var addedBytes: Int { mark.utf8.count + digits.random + digits.proof }
  /// `NAME_MAX` of the usual file systems.
  private static let maximumBytes = 255

  /// A new name for a file that is to be called `name`.
  package static func random(for name: String) throws -> String {
    let chance = try randomSalt().prefix(digits.random / 2).map {
      ($0 < 16 ? "0" : "") + String($0, radix: 16)
    }
    .joined()
    let room = maximumBytes - mark.utf8.count - digits.random - digits.proof - 8
    var base = name
    // A character at a time: a name that is cut within one would be no UTF-8.
    while base.utf8.count > room { base.removeLast() }
    return base + mark + chance + proof(base, chance)
  }

  /// Whether a name was made by ``random(for:)``, or is that of a journal, log or index beside such a file.
  package static func isOurs(_ name: String) -> Bool {
    var name = Substring(name)
    if let suffix = DatabasePath.companionSuffixes.first(where: name.hasSuffix) {
      name = name.dropLast(suffix.count)
    }
    guard let range = name.range(of: mark, options: .backwards) else { return false }
    let (base, digits) = (name[..<range.lowerBound], name[range.upperBound...])
    guard digits.utf8.count == Self.digits.random + Self.digits.proof,
      digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { return false }
    return digits.suffix(Self.digits.proof) == proof(base, digits.prefix(Self.digits.random))
  }

  private static func proof(_ base: some StringProtocol, _ chance: some StringProtocol) -> String {
    String(sha256(Array("ObjectVault temporary\0\(base)\0\(chance)".utf8)).prefix(digits.proof))
  }
}

extension DatabasePath {
  /// A file of the same folder under a temporary name; errors go on naming this one.
  func temporary(_ name: String) -> DatabasePath { DatabasePath(temporary: sibling(name), of: self) }
}

enum Leftovers {
  /// Removes what builders left in a folder that were killed: their locks ended with them.
  static func sweep(_ folder: String) {
    for name in names(in: folder) where TemporaryName.isOurs(name) {
      let path = folder == "/" ? folder + name : folder + "/" + name
      // Not even opened: closing a descriptor drops the locks that SQLite holds on the file in this process.
      guard !Temporaries.isBuilding(path) else { continue }
      remove(path, isCompanion: DatabasePath.companionSuffixes.contains(where: name.hasSuffix))
    }
  }

  private static func remove(_ path: String, isCompanion: Bool) {
    guard let status = FileStatus(path), status.isRegular, status.isOwn else { return }
    // A builder that was killed between giving the file its name and taking the temporary one away, where that takes
    // two steps: this is the file itself, in use perhaps, and opening it would drop the locks that this process
    // holds on it.
    guard status.names == 1 else {
      unlink(path)
      return
    }
    // The builder's lock is on the file: its journal goes with it, or when there is no file any more.
    let owner =
      isCompanion
      ? DatabasePath.companionSuffixes.first(where: path.hasSuffix).map { String(path.dropLast($0.count)) }
        ?? path
      : path
    // Another process may give it its own name at this moment: then nobody here opens it before it is closed again.
    FileGate.withoutOpenings {
      let descriptor = open(owner, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else {
        if errno == ENOENT, isCompanion { unlink(path) }
        return
      }
      defer { close(descriptor) }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
    }
  }

  /// The names in a folder that are UTF-8: ours are.
  static func names(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        // The system ends the name with a NUL within the room that the field has.
        tuple.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: tuple.pointee)) {
          String(validatingCString: $0)
        }
      }
      if let name { names.append(name) }
    }
    return names
  }
}
