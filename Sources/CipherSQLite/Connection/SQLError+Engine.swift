// Errors for the engine's result codes.

private import CSQLCipher
private import Foundation

extension SQLError {
  /// Returns the error for SQL text with a NUL character, at which the engine would stop reading.
  static func containsNUL(_ sql: String) -> SQLError {
    .engine(
      code: Int(SQLITE_ERROR), extendedCode: Int(SQLITE_ERROR),
      message:
        "the SQL has a NUL character (U+0000), where SQLite would stop reading it; remove it, or write "
        + "char(0)",
      sql: sql.replacing("\0", with: "\u{FFFD}"))
  }

  /// Returns the error for a result code of the engine.
  /// - Parameters:
  ///   - code: The result code.
  ///   - handle: The connection, which has the message and the extended code; nil if there is none.
  ///   - sql: The SQL that failed.
  ///   - file: The path of the database.
  static func from(
    code: Int32, handle: OpaquePointer?, sql: String, file: String
  ) -> SQLError {
    let extended = unsafe handle.map { unsafe sqlite3_extended_errcode($0) } ?? code
    let message =
      unsafe handle.map { unsafe String(cString: sqlite3_errmsg($0)) }
      ?? String(cString: sqlite3_errstr(code))
    // A quota or a file size limit is only visible in the error of the system: the engine just reports a
    // failed write.
    let system = unsafe code & 0xff == SQLITE_IOERR && handle != nil ? sqlite3_system_errno(handle) : 0
    switch code & 0xff {
    case SQLITE_FULL: return .diskFull(file: file)
    case SQLITE_IOERR where [ENOSPC, EDQUOT, EFBIG].contains(system): return .diskFull(file: file)
    case SQLITE_INTERRUPT: return .interrupted
    // SQLITE_READONLY_ROLLBACK, a macro that Swift does not import.
    case SQLITE_READONLY where extended == 776: return .interruptedWrite(file: file)
    // The pages authenticate, so the file is not damaged: an engine with the key wrote SQL that this
    // engine cannot parse.
    case SQLITE_CORRUPT where message.hasPrefix("malformed database schema"):
      return .schemaUnreadable(file: file, reason: message)
    case SQLITE_READONLY: return .readOnly(file: file)
    case SQLITE_CONSTRAINT: return .constraint(message: message, extendedCode: Int(extended), sql: sql)
    default:
      return .engine(code: Int(code & 0xff), extendedCode: Int(extended), message: message, sql: sql)
    }
  }
}
