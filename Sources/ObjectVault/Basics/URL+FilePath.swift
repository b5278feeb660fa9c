// Where a URL leads to: the path is asked for here, and nowhere else.

internal import CipherSQLite
internal import Foundation

extension URL {
  /// The path of the file.
  ///
  /// A URL without a scheme is taken for a path.
  /// - Throws: ``SQLError/pathUnusable(file:reason:)`` for a URL of something else: its path would be one of the disk, too.
  var filePath: String {
    get throws(SQLError) {
      guard isFileURL || scheme == nil else {
        throw SQLError.pathUnusable(
          file: absoluteString, reason: "it is no file; make a URL of a path by URL(fileURLWithPath:)")
      }
      return path
    }
  }
}
