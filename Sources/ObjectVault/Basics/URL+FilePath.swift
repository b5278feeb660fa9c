// Where a URL of a store or of a folder of steps leads to.

internal import CipherSQLite
package import Foundation

extension URL {
  /// The path of the file.
  ///
  /// A URL without a scheme is taken for a path.
  /// - Throws: ``SQLError/pathUnusable(file:reason:)`` for a URL of something else: its path would be one of the disk, too.
  package var filePath: String {
    get throws(SQLError) {
      guard isFileURL || scheme == nil else {
        throw SQLError.pathUnusable(
          file: absoluteString,
          reason: "it is not the URL of a file; URL(fileURLWithPath:) makes one of a path")
      }
      return path
    }
  }
}
