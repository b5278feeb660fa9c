// The pages of a connection's file, checked against its key without the engine.

private import Foundation

extension Connection {
  /// Checks the HMAC of every page in the database file (not the WAL) without the engine.
  ///
  /// Reads through SQLite's own handle, 256 pages at a time, and hashes them on up to four cores. What lies behind the
  /// last page does not count, nor does a page whose newer version was committed to the log. A page that does not verify
  /// is read again for some tenths of a second: another process may be copying its log.
  /// - Parameter progress: Called every 256 pages with the pages done and in all.
  /// - Returns: The numbers of the damaged or missing pages, counted from 1, at most 100.
  public func auditPages(progress: ((Int, Int) -> Void)? = nil) -> [Int] {
    auditPages(while: { true }, progress: progress) ?? []
  }

  /// The same with a way to end it.
  /// - Parameter isWanted: Asked every 256 pages.
  /// - Returns: nil when it was not wanted any more.
  func auditPages(while isWanted: () -> Bool, progress: ((Int, Int) -> Void)? = nil) -> [Int]? {
    // What was committed to the log and not copied yet is read from there, whatever the file itself has.
    let log = configuration.access == .immutable ? nil : WriteAheadLog(beside: file)
    let logged =
      log.map { $0.pageBytes == unlocked.profile.pageBytes && $0.fits(unlocked) ? $0.pages : [] } ?? []
    let audit = PageAudit(unlocked)
    let found = unsafe audit.damagedPages(
      of: rawFile(of: handle), during: { isWanted() ? .done : .failed }, except: { logged.contains($0) },
      progress)
    guard var damaged = found, !damaged.isEmpty else { return found }
    if let last = pageCount { damaged.removeAll { $0 > last } }
    for pause in [0.02, 0.1, 0.3] where configuration.access != .immutable && !damaged.isEmpty {
      Thread.sleep(forTimeInterval: pause)
      damaged = unsafe audit.damaged(among: damaged, of: rawFile(of: handle))
    }
    return damaged
  }

  /// The same of one moment.
  func auditPagesOnce(progress: ((Int, Int) -> Void)? = nil) -> [Int] {
    unsafe PageAudit(unlocked).damagedPages(of: rawFile(of: handle), progress) ?? []
  }

  /// The pages that the database has; nil when it cannot be read.
  private var pageCount: Int? {
    let wasVerified = isVerified
    // An error here would be explained by an audit.
    isVerified = false
    defer { isVerified = wasVerified }
    return (try? value("PRAGMA page_count"))?.int64.flatMap { $0 > 0 ? Int($0) : nil }
  }

  /// Whether any page but the first is under this connection's key.
  func verifiesSample() -> Bool {
    guard let raw = try? RawFile.open(file) else { return false }
    return unlocked.verifiesSample(of: raw)
  }
}
