// What a file's rollback journal will put back. A process that died within a transaction leaves a journal, and the next
// one that opens the file copies the former pages from it before it reads. Where the transaction was a rekey, the
// file's own first page may be under the new key already, while the one that counts is in the journal, under the old.
// The format is that of SQLite's "Database File Format", section 3, "The Rollback Journal".

enum HotJournal {
  static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]

  /// Whether there is a journal that the engine may put back.
  static func isThere(_ file: DatabasePath) -> Bool {
    SideFile(file.journal)?.read(8, at: 0).map { $0 == magic } ?? false
  }

  /// The first page as the journal beside a file will put it back; nil where it holds none.
  static func firstPage(of file: DatabasePath) -> [UInt8]? {
    guard let journal = SideFile(file.journal) else { return nil }
    var offset = 0
    // A journal that was synced several times has as many headers, each with the count of its records.
    while let header = journal.read(28, at: offset), header.starts(with: magic) {
      let (count, sectorBytes, pageBytes) = (
        SideFile.number(header[8..<12]), SideFile.number(header[20..<24]), SideFile.number(header[24..<28])
      )
      guard CipherProfile.pageSizes.contains(pageBytes), (28...65_536).contains(sectorBytes) else {
        return nil
      }
      var record = offset + sectorBytes
      let recordBytes = 8 + pageBytes
      // 2^32 - 1: up to the end of the file. None: what follows was not synced, and will not be put back.
      for _ in 0..<count {
        guard let page = journal.read(4, at: record) else { return nil }
        // Where the engine stops, too: behind it there is nothing, or a hole of any size.
        guard SideFile.number(page[...]) != 0 else { return nil }
        if SideFile.number(page[...]) == 1 { return journal.read(pageBytes, at: record + 4) }
        record += recordBytes
      }
      let next = (record + sectorBytes - 1) / sectorBytes * sectorBytes
      guard count > 0, next > offset else { return nil }
      offset = next
    }
    return nil
  }

  /// Goes on when the engine, which puts a journal back, would delete nothing that does not belong to it.
  ///
  /// The journal of a transaction over several attached files ends with the name of a file that lists them all, which
  /// the engine deletes when none of them needs it any more ("Database File Format", 3: the super-journal).
  /// - Throws: ``SQLError/journalNamesAnother(file:)``.
  static func checkSuperJournal(of file: DatabasePath) throws {
    guard let journal = SideFile(file.journal), journal.byteCount >= 16,
      let end = journal.read(16, at: journal.byteCount - 16), end[8...].elementsEqual(magic)
    else { return }
    let count = SideFile.number(end[0..<4])
    guard count > 0 else { return }
    // As the engine names them: `NAME-mj`, and nine hexadecimal digits.
    guard count < 4096, let bytes = journal.read(count, at: journal.byteCount - 16 - count),
      let name = String(validating: bytes, as: UTF8.self), name.wholeMatch(of: #/.+-mj[0-9A-F]{9}/#) != nil
    else { throw SQLError.journalNamesAnother(file: file.given + "-journal") }
    // Gone, it has no part in it any more.
    guard let list = SideFile(name) else {
      guard FileStatus(name) == nil else { throw SQLError.journalNamesAnother(file: file.given + "-journal") }
      return
    }
    let children = list.readUp(to: 1 << 16, at: 0).split(separator: 0)
    guard children.contains(where: { $0.elementsEqual(file.journal.utf8) }) else {
      throw SQLError.journalNamesAnother(file: file.given + "-journal")
    }
  }
}
