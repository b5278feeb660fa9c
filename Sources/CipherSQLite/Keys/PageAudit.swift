// The HMAC of every page, checked without the engine. One thread reads; hashing, which takes most of the time, is
// shared by the cores.

private import CSQLCipher
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
    // What was committed to the log and not copied yet is read from there, whatever the file itself has.
    let log = configuration.access == .immutable ? nil : WriteAheadLog(beside: file)
    let logged =
      log.map { $0.pageBytes == unlocked.profile.pageBytes && $0.fits(unlocked) ? $0.pages : [] } ?? []
    let audit = PageAudit(unlocked)
    let found = audit.damagedPages(of: rawFile(of: handle), except: { logged.contains($0) }, progress)
    guard var damaged = found, !damaged.isEmpty else { return [] }
    if let last = pageCount { damaged.removeAll { $0 > last } }
    for pause in [0.02, 0.1, 0.3] where configuration.access != .immutable && !damaged.isEmpty {
      Thread.sleep(forTimeInterval: pause)
      damaged = audit.damaged(among: damaged, of: rawFile(of: handle))
    }
    return damaged
  }

  /// The same of one moment.
  func auditPagesOnce(progress: ((Int, Int) -> Void)? = nil) -> [Int] {
    PageAudit(unlocked).damagedPages(of: rawFile(of: handle), progress) ?? []
  }

  /// The pages that the database has; nil when it cannot be read.
  private var pageCount: Int? {
    let wasVerified = isVerified
    // An error here would be explained by an audit.
    isVerified = false
    defer { isVerified = wasVerified }
    return (try? value("PRAGMA page_count"))?.int64.flatMap { $0 > 0 ? Int($0) : nil }
  }
}

extension RawFile {
  func damagedPages(key: UnlockedKey) -> [Int] { PageAudit(key).damagedPages(of: file, nil) ?? [] }

  /// The same of a file that somebody still writes, every page once. A page that does not verify is looked at
  /// again until the file is final.
  /// - Parameters:
  ///   - key: What the pages shall be under.
  ///   - writing: How far that is; asked again and again.
  ///   - progress: As for ``Connection/auditPages(progress:)``.
  /// - Returns: nil when the writing failed.
  func damagedPages(
    key: UnlockedKey, during writing: () -> PageWriting, progress: ((Int, Int) -> Void)?
  ) -> [Int]? {
    PageAudit(key).damagedPages(of: file, during: writing, progress)
  }
}

/// How far the writing of a file has come that is audited meanwhile.
enum PageWriting {
  case underway, done, failed
}

private struct PageAudit {
  private static let pagesAtOnce = 256
  /// Fewer pages are checked before another core would have begun.
  private static let pagesWorthSharing = 64
  private static let mostDamaged = 100

  private let pageBytes: Int
  private let lanes: [PageVerifier]

  init(_ key: UnlockedKey) {
    pageBytes = key.profile.pageBytes
    let cores = max(1, min(4, ProcessInfo.processInfo.activeProcessorCount))
    lanes = (0..<cores).map { _ in PageVerifier(key) }
  }

  func damagedPages(
    of file: UnsafeMutablePointer<sqlite3_file>?, during writing: () -> PageWriting = { .done },
    except isElsewhere: (Int) -> Bool = { _ in false }, _ progress: ((Int, Int) -> Void)?
  ) -> [Int]? {
    var room = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    defer { room.deallocate() }
    var damaged: [Int] = []
    var first = 1
    var pause = 0.001
    while damaged.count < Self.mostDamaged {
      // Asked before the pages are read: what is read after the end is final.
      let state = writing()
      if state == .failed { return nil }
      let total = (size(of: file) + pageBytes - 1) / pageBytes
      let count = min(Self.pagesAtOnce, total - first + 1)
      if count <= 0 {
        if state == .done { break }
        Thread.sleep(forTimeInterval: pause)
        continue
      }
      if room.count < count * pageBytes {
        room.deallocate()
        room = .allocate(byteCount: count * pageBytes, alignment: 16)
      }
      let found = damagedPages(of: file, room, first: first, count: count, leavingOneCore: state == .underway)
      if state == .underway, let page = found.first {
        // Longer and longer while nothing comes: a reader in the way may keep the writing for seconds.
        pause = page == first ? min(pause * 2, 0.02) : 0.001
        first = page
        Thread.sleep(forTimeInterval: pause)
      } else {
        damaged += found.filter { !isElsewhere($0) }
        first += count
      }
      progress?(min(first - 1, total), total)
    }
    return Array(damaged.prefix(Self.mostDamaged))
  }

  /// Which of some pages do not verify.
  func damaged(among pages: [Int], of file: UnsafeMutablePointer<sqlite3_file>?) -> [Int] {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: pageBytes, alignment: 16)
    defer { room.deallocate() }
    return pages.filter {
      !damagedPages(of: file, room, first: $0, count: 1, leavingOneCore: false).isEmpty
    }
  }

  private func damagedPages(
    of file: UnsafeMutablePointer<sqlite3_file>?, _ room: UnsafeMutableRawBufferPointer, first: Int,
    count: Int, leavingOneCore: Bool
  ) -> [Int] {
    let part = UnsafeMutableRawBufferPointer(rebasing: room[..<(count * pageBytes)])
    if read(file, into: part, at: (first - 1) * pageBytes) {
      return check(part, first: first, count: count, lanes: max(1, lanes.count - (leavingOneCore ? 1 : 0)))
    }
    // The file ends within a page, or the disk fails somewhere: one by one, to tell where.
    return (first..<first + count).filter { number in
      let page = UnsafeMutableRawBufferPointer(rebasing: room[..<pageBytes])
      return !read(file, into: page, at: (number - 1) * pageBytes)
        || !check(page, first: number, count: 1, lanes: 1).isEmpty
    }
  }

  /// - Parameters:
  ///   - pages: The pages, one behind the other.
  ///   - first: The number of the first one.
  ///   - count: How many.
  ///   - most: How many cores may share them.
  private func check(
    _ pages: UnsafeMutableRawBufferPointer, first: Int, count: Int, lanes most: Int
  ) -> [Int] {
    // SQLite never writes the page that holds its lock bytes (at 1 GiB).
    let lockPage = 0x4000_0000 / pageBytes + 1
    let laneCount = count < Self.pagesWorthSharing ? 1 : most
    let damaged = Locked<[Int]>([])
    // Safe to share: each lane has a verifier of its own, and every page is one lane's alone.
    nonisolated(unsafe) let (lanes, pages) = (lanes, pages)
    let pageBytes = pageBytes
    DispatchQueue.concurrentPerform(iterations: laneCount) { lane in
      for index in stride(from: lane, to: count, by: laneCount) where first + index != lockPage {
        let page = UnsafeMutableRawBufferPointer(
          rebasing: pages[(index * pageBytes)..<((index + 1) * pageBytes)])
        if !lanes[lane].verifies(page, number: first + index) {
          damaged.withLock { $0.append(first + index) }
        }
      }
    }
    return damaged.withLock { $0.sorted() }
  }
}
