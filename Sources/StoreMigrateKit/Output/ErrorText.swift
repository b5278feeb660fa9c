// Errors in the words of the tool, where the library speaks to a program.

import CipherSQLite
import Foundation

enum ErrorText {
  static func of(_ error: any Error) -> String {
    switch error {
    // An app may let a store be created; a command that looks for one does not.
    case SQLError.notFound(let file): "\(file): there is no such file. Check the path."
    case SQLError.emptyFile(let file):
      "\(file): the file has no bytes. Check the path, or restore it from a backup."
    case let error as CocoaError: text(of: error)
    default: "\(error)"
    }
  }

  /// Foundation's errors of files print their inside.
  private static func text(of error: CocoaError) -> String {
    // Marked by Foundation because it holds Any; nobody else has this error.
    let path = unsafe error.userInfo[NSFilePathErrorKey] as? String ?? error.url?.path
    let cause = error.underlying as NSError?
    let reason =
      cause?.domain == NSPOSIXErrorDomain
      ? systemText(Int32(truncatingIfNeeded: cause?.code ?? 0)) : error.localizedDescription
    return (path.map { "\($0): " } ?? "") + reason
  }
}
