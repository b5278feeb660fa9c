// Reads what a file's rollback journal will restore. A process that died within a transaction leaves a
// journal, and the next process that opens the file copies the old pages from the journal into the file
// before it reads. If the transaction was a rekey, the file's first page may already be under the new key,
// while the page that will be restored is in the journal, under the old key. The format is SQLite's
// "Database File Format", section 3, "The Rollback Journal".

enum HotJournal {
  static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]

  /// Whether there is a journal that the engine may roll back.
  static func isThere(_ file: DatabasePath) -> Bool {
    CompanionFile(file.journal)?.read(8, at: 0).map { $0 == magic } ?? false
  }

  /// Returns the first page as the file's journal will restore it; nil where the journal does not contain
  /// that page.
  static func firstPage(of file: DatabasePath) -> [UInt8]? {
    guard let journal = CompanionFile(file.journal) else { return nil }
    var offset = 0
    // A journal that was synced several times has several headers, each with the count of its records.
    while let header = journal.read(28, at: offset), header.starts(with: magic) {
      let (count, sectorBytes, pageBytes) = (
        CompanionFile.number(header[8..<12]), CompanionFile.number(header[20..<24]),
        CompanionFile.number(header[24..<28])
      )
      guard CipherProfile.pageSizes.contains(pageBytes), (28...65_536).contains(sectorBytes) else {
        return nil
      }
      var record = offset + sectorBytes
      let recordBytes = 8 + pageBytes
      // A count of 2^32 - 1 means: up to the end of the file. A count of 0 means: what follows was not
      // synced, and will not be restored.
      for _ in 0..<count {
        guard let page = journal.read(4, at: record) else { return nil }
        // The engine stops at page number 0, too. The zeros may be a hole of any size in the file.
        guard CompanionFile.number(page[...]) != 0 else { return nil }
        if CompanionFile.number(page[...]) == 1 { return journal.read(pageBytes, at: record + 4) }
        record += recordBytes
      }
      let next = (record + sectorBytes - 1) / sectorBytes * sectorBytes
      guard count > 0, next > offset else { return nil }
      offset = next
    }
    return nil
  }

  /// Checks that the engine deletes no unrelated file when it rolls the journal back.
  ///
  /// The journal of a transaction over several attached files ends with the name of a super-journal, a
  /// file that lists all their journals. The engine deletes the super-journal when no journal needs it any
  /// more ("Database File Format", section 3).
  /// - Throws: ``SQLError/journalNamesAnother(file:)``.
  static func checkSuperJournal(of file: DatabasePath) throws {
    guard let journal = CompanionFile(file.journal), journal.byteCount >= 16,
      let end = journal.read(16, at: journal.byteCount - 16), end[8...].elementsEqual(magic)
    else { return }
    let count = CompanionFile.number(end[0..<4])
    guard count > 0 else { return }
    // The engine names super-journals `NAME-mj` and nine hexadecimal digits.
    guard count < 4096, let bytes = journal.read(count, at: journal.byteCount - 16 - count),
      let name = String(validating: bytes, as: UTF8.self), name.wholeMatch(of: #/.+-mj[0-9A-F]{9}/#) != nil
    else { throw SQLError.journalNamesAnother(file: file.given + "-journal") }
    // A super-journal that does not exist cannot be deleted.
    guard let list = CompanionFile(name) else {
      guard FileStatus(name) == nil else { throw SQLError.journalNamesAnother(file: file.given + "-journal") }
      return
    }
    let children = list.readUp(to: 1 << 16, at: 0).split(separator: 0)
    guard children.contains(where: { $0.elementsEqual(file.journal.utf8) }) else {
      throw SQLError.journalNamesAnother(file: file.given + "-journal")
    }
  }
}
