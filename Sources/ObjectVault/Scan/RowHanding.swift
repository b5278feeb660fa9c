// What the second thread of a read that two connections share does with its rows.

internal import CipherSQLite

/// Receives the rows of one thread, and hands them over to another one in batches.
protocol RowHanding: RowReceiver {
  /// Hands over what is left, after the last row.
  func finish() throws
}
