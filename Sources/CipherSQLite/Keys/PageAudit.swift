// The HMAC of every page, checked without the engine. One thread reads; hashing, which takes most of the time, is
// shared by the cores.

private import CSQLCipher
private import Foundation

extension Connection {
  /// Checks the HMAC of every page in the database file (not the WAL) without the engine.
  ///
  /// Reads through SQLite's own handle, 256 pages at a time, and hashes them on up to four cores.
  /// - Parameter progress: Called every 256 pages with the pages done and in all.
  /// - Returns: The numbers of the damaged or missing pages, counted from 1, at most 100.
  public func auditPages(progress: ((Int, Int) -> Void)? = nil) -> [Int] {
    PageAudit(unlocked).damagedPages(of: rawFile(of: handle), progress)
  }
}

extension RawFile {
  func damagedPages(key: UnlockedKey) -> [Int] { PageAudit(key).damagedPages(of: file, nil) }
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
    of file: UnsafeMutablePointer<sqlite3_file>?, _ progress: ((Int, Int) -> Void)?
  ) -> [Int] {
    let total = size(of: file)
    let count = (total + pageBytes - 1) / pageBytes
    let room = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(Self.pagesAtOnce, max(1, count)) * pageBytes, alignment: 16)
    defer { room.deallocate() }
    var damaged: [Int] = []
    for first in stride(from: 1, through: count, by: Self.pagesAtOnce) where damaged.count < Self.mostDamaged
    {
      let pages = min(Self.pagesAtOnce, count - first + 1)
      let part = UnsafeMutableRawBufferPointer(rebasing: room[..<(pages * pageBytes)])
      if read(file, into: part, at: (first - 1) * pageBytes) {
        damaged += check(part, first: first, count: pages)
      } else {
        // The file ends within a page, or the disk fails somewhere: one by one, to tell where.
        for number in first..<first + pages {
          let page = UnsafeMutableRawBufferPointer(rebasing: room[..<pageBytes])
          let isRead = read(file, into: page, at: (number - 1) * pageBytes)
          damaged += isRead ? check(page, first: number, count: 1) : [number]
        }
      }
      if pages == Self.pagesAtOnce { progress?(first + pages - 1, count) }
    }
    progress?(count, count)
    return Array(damaged.prefix(Self.mostDamaged))
  }

  /// - Parameters:
  ///   - pages: The pages, one behind the other.
  ///   - first: The number of the first one.
  private func check(_ pages: UnsafeMutableRawBufferPointer, first: Int, count: Int) -> [Int] {
    // SQLite never writes the page that holds its lock bytes (at 1 GiB).
    let lockPage = 0x4000_0000 / pageBytes + 1
    let laneCount = count < Self.pagesWorthSharing ? 1 : lanes.count
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
