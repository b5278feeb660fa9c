// What is done about the files that a killed process left while it built them. Their names prove by themselves that they
// are ours (TemporaryName).

private import Foundation

package enum Leftovers {
  /// Removes what builders left in a folder that were killed: their locks ended with them.
  static func sweep(_ folder: String) { sweep(folder, names(in: folder)) { _ in true } }

  /// The same of some files of a folder.
  /// - Parameters:
  ///   - folder: The folder.
  ///   - names: The names of files in it; those that are not ours are left alone.
  ///   - isWanted: Asked for the name that a file was to have.
  package static func sweep(_ folder: String, _ names: [String], where isWanted: (String) -> Bool) {
    for name in names where TemporaryName.base(of: name).map(isWanted) ?? false {
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
      unsafe unlink(path)
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
      let descriptor = unsafe open(owner, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else {
        if errno == ENOENT, isCompanion { unsafe unlink(path) }
        return
      }
      defer { close(descriptor) }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unsafe unlink(path) }
    }
  }

  /// The names in a folder that are UTF-8: ours are.
  package static func names(in folder: String) -> [String] {
    guard let directory = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        // The system ends the name with a NUL within the room that the field has.
        unsafe tuple.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: tuple.pointee)) {
          unsafe String(validatingCString: $0)
        }
      }
      if let name { names.append(name) }
    }
    return names
  }
}
