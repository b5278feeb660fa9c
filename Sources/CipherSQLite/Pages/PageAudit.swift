// Checks the HMAC of every page without the engine. One thread reads; several cores share the hashing,
// which takes most of the time.

internal import CSQLCipher
private import Foundation

extension RawFile {
  func damagedPages(key: UnlockedKey) -> [Int] { unsafe PageAudit(key).damagedPages(of: file, nil) ?? [] }

  /// Returns the damaged pages of a file that is still being written. Each page is checked once; a page
  /// that does not verify is checked again until the file is final.
  /// - Parameters:
  ///   - key: The key that the pages are expected to be under.
  ///   - writing: Returns the state of the writing; called repeatedly.
  ///   - progress: As for ``Connection/auditPages(progress:)``.
  /// - Returns: nil when the writing failed.
  func damagedPages(
    key: UnlockedKey, during writing: () -> PageWriting, progress: ((Int, Int) -> Void)?
  ) -> [Int]? {
    unsafe PageAudit(key).damagedPages(of: file, during: writing, progress)
  }
}

/// The state of writing a file that is audited at the same time.
enum PageWriting {
  case underway, done, failed
}

/// Checks the pages of an open file against one key.
struct PageAudit {
  private static let pagesAtOnce = 256
  /// The number of pages from which several cores share the work. One core checks fewer pages in less
  /// time than another core takes to start.
  private static let minimumSharedPages = 64
  private static let maximumDamagedPages = 100

  private let pageBytes: Int
  /// One verifier for each core that takes part.
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
    // Used by this call alone, and by the lanes that it waits for; freed on every path.
    var room = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    defer { unsafe room.deallocate() }
    var damaged: [Int] = []
    var first = 1
    var pause = 0.001
    while damaged.count < Self.maximumDamagedPages {
      // The state is queried before the pages are read: pages that are read after the end of writing are
      // final.
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
        // The pause grows while no page is completed, because another reader of the file may delay the
        // writing for seconds.
        pause = page == first ? min(pause * 2, 0.02) : 0.001
        first = page
        Thread.sleep(forTimeInterval: pause)
      } else {
        damaged += found.filter { !isElsewhere($0) }
        first += count
      }
      progress?(min(first - 1, total), total)
    }
    return Array(damaged.prefix(Self.maximumDamagedPages))
  }

  /// Returns those of the given pages that do not verify.
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
    // The file ends within a page, or the disk fails somewhere: pages are read one by one to find which.
    return (first..<first + count).filter { number in
      let page = unsafe UnsafeMutableRawBufferPointer(rebasing: room[..<pageBytes])
      return unsafe !read(file, into: page, at: (number - 1) * pageBytes)
        || !check(page, first: number, count: 1, lanes: 1).isEmpty
    }
  }

  /// Returns the numbers of the pages that do not verify.
  /// - Parameters:
  ///   - pages: The pages, one after another.
  ///   - first: The number of the first one.
  ///   - count: The number of pages.
  ///   - most: The largest number of cores to use.
  private func check(
    _ pages: UnsafeMutableRawBufferPointer, first: Int, count: Int, lanes most: Int
  ) -> [Int] {
    // SQLite never writes the page that contains its lock bytes (at 1 GiB).
    let lockPage = 0x4000_0000 / pageBytes + 1
    let laneCount = count < Self.minimumSharedPages ? 1 : most
    let damaged = Locked<[Int]>([])
    // Safe to share: each lane has its own verifier, and each page belongs to one lane.
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
