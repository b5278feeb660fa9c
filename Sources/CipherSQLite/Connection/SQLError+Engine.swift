// What a code of the engine means, as an error.

private import CSQLCipher
private import Foundation

extension SQLError {
  /// Of a text that the engine would not read to its end.
  static func holdsNUL(_ sql: String) -> SQLError {
    .engine(
      code: Int(SQLITE_ERROR), extendedCode: Int(SQLITE_ERROR),
      message:
        "the SQL has a NUL character (U+0000), at which the engine would end it; take it out, or write char(0)",
      sql: sql.replacing("\0", with: "\u{FFFD}"))
  }

  static func from(
    code: Int32, handle: OpaquePointer?, sql: String, file: String
  ) -> SQLError {
    let extended = unsafe handle.map { unsafe sqlite3_extended_errcode($0) } ?? code
    let message =
      unsafe handle.map { unsafe String(cString: sqlite3_errmsg($0)) }
      ?? String(cString: sqlite3_errstr(code))
    // A quota, or a limit of the file's size: the system says so, the engine only that it could not write.
    let system = unsafe code & 0xff == SQLITE_IOERR && handle != nil ? sqlite3_system_errno(handle) : 0
    switch code & 0xff {
    case SQLITE_FULL: return .diskFull(file: file)
    case SQLITE_IOERR where [ENOSPC, EDQUOT, EFBIG].contains(system): return .diskFull(file: file)
    case SQLITE_INTERRUPT: return .interrupted
    // The number of SQLITE_READONLY_ROLLBACK, a macro that Swift does not see.
    case SQLITE_READONLY where extended == 776: return .interruptedWrite(file: file)
    // What cannot be parsed was read from pages that authenticate: nobody but an engine has written it.
    case SQLITE_CORRUPT where message.hasPrefix("malformed database schema"):
      return .schemaUnreadable(file: file, reason: message)
    case SQLITE_READONLY: return .readOnly(file: file)
    case SQLITE_CONSTRAINT: return .constraint(message: message, extendedCode: Int(extended), sql: sql)
    default:
      return .engine(code: Int(code & 0xff), extendedCode: Int(extended), message: message, sql: sql)
    }
  }
}
