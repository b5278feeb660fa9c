// The path that the URL of a store or of a folder of steps refers to.

internal import CipherSQLite
package import Foundation

extension URL {
  /// The path of the file. A URL without a scheme counts as a path.
  ///
  /// - Throws: ``SQLError/pathUnusable(file:reason:)`` for a URL with another scheme, whose path is no
  ///   path on disk.
  package var filePath: String {
    get throws(SQLError) {
      guard isFileURL || scheme == nil else {
        throw SQLError.pathUnusable(
          file: absoluteString,
          reason: "it is not the URL of a file; use URL(fileURLWithPath:) for a path")
      }
      return path
    }
  }
}
