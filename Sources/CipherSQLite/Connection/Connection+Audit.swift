// Authentication of the pages of a connection's file with its key, without the engine.

private import Foundation

extension Connection {
  /// Checks the HMAC of every page in the database file (not in the WAL) without the engine.
  ///
  /// Reads through SQLite's own file handle, 256 pages at a time, and hashes on up to four cores. Pages
  /// after the end of the database are not reported. Neither are pages of which the WAL has a newer
  /// version. A page that fails is read again up to three times, within about half a second, because
  /// another process may be running a checkpoint. With ``Access/immutable``, the WAL is ignored, and each
  /// page is read once.
  /// - Parameter progress: Called every 256 pages with the number of pages done and in total.
  /// - Returns: The numbers of the damaged or missing pages, counted from 1, at most 100.
  public func auditPages(progress: ((Int, Int) -> Void)? = nil) -> [Int] {
    auditPages(while: { true }, progress: progress) ?? []
  }

  /// Checks the HMAC of every page, as ``auditPages(progress:)``, and can be stopped.
  /// - Parameters:
  ///   - isWanted: Called every 256 pages; `false` stops the check.
  ///   - progress: Called every 256 pages with the number of pages done and in total.
  /// - Returns: The damaged pages; nil if the check was stopped.
  func auditPages(while isWanted: () -> Bool, progress: ((Int, Int) -> Void)? = nil) -> [Int]? {
    // The pages that are in the log. The engine reads them from there, so their state in the file does
    // not matter.
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

  /// Checks the HMAC of every page in one pass: failing pages are not read again, and
  /// the WAL is not considered.
  func auditPagesOnce(progress: ((Int, Int) -> Void)? = nil) -> [Int] {
    unsafe PageAudit(unlocked).damagedPages(of: rawFile(of: handle), progress) ?? []
  }

  /// The number of pages of the database; nil if it cannot be read.
  private var pageCount: Int? {
    let wasVerified = isVerified
    // On a verified connection, an error of this query would start another audit.
    isVerified = false
    defer { isVerified = wasVerified }
    return (try? value("PRAGMA page_count"))?.int64.flatMap { $0 > 0 ? Int($0) : nil }
  }

  /// Reads the first page of the file itself, and returns whether it verifies under this connection's key.
  func verifiesFirstPage() -> Bool {
    let page = (try? RawFile.open(file))?.read(unlocked.profile.pageBytes, at: 0)
    return page.map { unlocked.verifies(page: $0, number: 1) } ?? false
  }

  /// Reads a sample of pages without the first page, and returns whether any of them verifies under this
  /// connection's key.
  func verifiesSample() -> Bool {
    guard let raw = try? RawFile.open(file) else { return false }
    return unlocked.verifiesSample(of: raw)
  }
}
