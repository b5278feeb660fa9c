// The HMAC of every page, checked without the engine. One thread reads; hashing, which takes most of the time, is
// shared by the cores.

internal import CSQLCipher
private import Foundation

extension RawFile {
  func damagedPages(key: UnlockedKey) -> [Int] { unsafe PageAudit(key).damagedPages(of: file, nil) ?? [] }

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
    unsafe PageAudit(key).damagedPages(of: file, during: writing, progress)
  }
}

/// How far the writing of a file has come that is audited meanwhile.
enum PageWriting {
  case underway, done, failed
}

/// Checks the pages of an open file against one key.
struct PageAudit {
  private static let pagesAtOnce = 256
  /// Fewer pages are checked before another core would have begun.
  private static let pagesWorthSharing = 64
  private static let mostDamaged = 100

  private let pageBytes: Int
  private let lanes: [PageVerifier]

  init(_ key: UnlockedKey) {
    pageBytes = key.profile.pageBytes
    let cores = max(1, min(4, usableProcessors()))
    lanes = (0..<cores).map { _ in PageVerifier(key) }
  }

  func damagedPages(
    of file: UnsafeMutablePointer<sqlite3_file>?, during writing: () -> PageWriting = { .done },
    except isElsewhere: (Int) -> Bool = { _ in false }, _ progress: ((Int, Int) -> Void)?
  ) -> [Int]? {
    // Of this call alone, and of the lanes that it waits for; freed on every way out.
    var room = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    defer { unsafe room.deallocate() }
    var damaged: [Int] = []
    var first = 1
    var pause = 0.001
    while damaged.count < Self.mostDamaged {
      // Asked before the pages are read: what is read after the end is final.
      let state = writing()
      if state == .failed { return nil }
      let total = unsafe (size(of: file) + pageBytes - 1) / pageBytes
      let count = min(Self.pagesAtOnce, total - first + 1)
      if count <= 0 {
        if state == .done { break }
        Thread.sleep(forTimeInterval: pause)
        continue
      }
      if room.count < count * pageBytes {
        unsafe room.deallocate()
        unsafe room = .allocate(byteCount: count * pageBytes, alignment: 16)
      }
      let found = unsafe damagedPages(
        of: file, room, first: first, count: count, leavingOneCore: state == .underway)
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
    defer { unsafe room.deallocate() }
    return pages.filter {
      unsafe !damagedPages(of: file, room, first: $0, count: 1, leavingOneCore: false).isEmpty
    }
  }

  private func damagedPages(
    of file: UnsafeMutablePointer<sqlite3_file>?, _ room: UnsafeMutableRawBufferPointer, first: Int,
    count: Int, leavingOneCore: Bool
  ) -> [Int] {
    let part = unsafe UnsafeMutableRawBufferPointer(rebasing: room[..<(count * pageBytes)])
    if unsafe read(file, into: part, at: (first - 1) * pageBytes) {
      return unsafe check(
        part, first: first, count: count, lanes: max(1, lanes.count - (leavingOneCore ? 1 : 0)))
    }
    // The file ends within a page, or the disk fails somewhere: one by one, to tell where.
    return (first..<first + count).filter { number in
      let page = unsafe UnsafeMutableRawBufferPointer(rebasing: room[..<pageBytes])
      return unsafe !read(file, into: page, at: (number - 1) * pageBytes)
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
    nonisolated(unsafe) let (lanes, pages) = unsafe (lanes, pages)
    let pageBytes = pageBytes
    DispatchQueue.concurrentPerform(iterations: laneCount) { lane in
      for index in stride(from: lane, to: count, by: laneCount) where first + index != lockPage {
        let page = unsafe UnsafeMutableRawBufferPointer(
          rebasing: pages[(index * pageBytes)..<((index + 1) * pageBytes)])
        if unsafe !lanes[lane].verifies(page, number: first + index) {
          damaged.withLock { $0.append(first + index) }
        }
      }
    }
    return damaged.withLock { $0.sorted() }
  }
}
