// A package index, read paragraph by paragraph. Nothing of it is kept: values are slices of a buffer that is read into again.

import Foundation

/// A part of a line, valid until the next paragraph is read.
typealias Slice = UnsafeRawBufferPointer

/// The fields that are read.
enum PackageField: Int, CaseIterable {
  case package, version, architecture, maintainer, installedSize, depends, preDepends, recommends, suggests
  case description, homepage, tag, section, priority, size, digest

  private static let names: [StaticString] = [
    "Package", "Version", "Architecture", "Maintainer", "Installed-Size", "Depends", "Pre-Depends",
    "Recommends",
    "Suggests", "Description", "Homepage", "Tag", "Section", "Priority", "Size", "MD5sum",
  ]

  /// The field of a name; nil for all others.
  init?(_ name: Slice) {
    guard
      let start = name.baseAddress,
      let place = Self.names.firstIndex(where: {
        $0.utf8CodeUnitCount == name.count && memcmp($0.utf8Start, start, name.count) == 0
      })
    else { return nil }
    self.init(rawValue: place)
  }
}

/// One version of a package, as the index describes it.
struct PackageParagraph {
  fileprivate var values = [Slice?](repeating: nil, count: PackageField.allCases.count)

  subscript(_ field: PackageField) -> Slice? { values[field.rawValue] }
  func text(_ field: PackageField) -> String? { values[field.rawValue].map { $0.text } }
  func number(_ field: PackageField) -> Int? { text(field).flatMap { Int($0) } }

  fileprivate var isEmpty: Bool { values.allSatisfy { $0 == nil } }

  /// Takes lines in, without the blank one behind them.
  fileprivate init(_ lines: Slice) {
    var current: PackageField?
    lines.forEachPart(of: UInt8(ascii: "\n")) { line in
      guard let first = line.first, first != UInt8(ascii: " "), first != UInt8(ascii: "\t") else {
        // A line that goes on is put to the one before with the break between.
        if let field = current, let start = values[field.rawValue]?.baseAddress, let end = line.end {
          values[field.rawValue] = Slice(start: start, count: end - start)
        }
        return
      }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
      current = PackageField(Slice(rebasing: line[..<colon]))
      if let current { values[current.rawValue] = Slice(rebasing: line[(colon + 1)...]).trimmed }
    }
  }

  /// Calls `body` for each paragraph of a file.
  static func forEach(in path: String, _ body: (PackageParagraph) throws -> Void) throws {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    defer { try? file.close() }
    var buffer = [UInt8]()
    while let more = try file.read(upToCount: 1 << 18), !more.isEmpty {
      buffer += more
      let used = try buffer.withUnsafeBytes { try forEach(of: $0, body) }
      buffer.removeFirst(used)
    }
    try buffer.withUnsafeBytes { bytes in
      let last = PackageParagraph(bytes)
      if !last.isEmpty { try body(last) }
    }
  }

  /// - Returns: How many bytes whole paragraphs have.
  private static func forEach(of bytes: Slice, _ body: (PackageParagraph) throws -> Void) throws -> Int {
    var (start, line) = (0, 0)
    while let base = bytes.baseAddress, let found = memchr(base + line, 10, bytes.count - line) {
      let end = UnsafeRawPointer(found) - base
      if end == line {
        let paragraph = PackageParagraph(Slice(rebasing: bytes[start..<end]))
        if !paragraph.isEmpty { try body(paragraph) }
        start = end + 1
      }
      line = end + 1
    }
    return start
  }
}

extension PackageParagraph {
  /// One alternative of one need.
  struct Need {
    let group: Int
    let position: Int
    let name: Slice
    let qualifier: Slice?
    let comparison: Slice?
    let bound: Slice?

    /// - Parameter text: `name:any (>= 1.0)`, all but the name optional.
    fileprivate init(_ text: Slice, _ group: Int, _ position: Int) {
      (self.group, self.position) = (group, position)
      let bracket = text.firstIndex(of: UInt8(ascii: "("))
      let whole = Slice(rebasing: text[..<(bracket ?? text.count)])
      let colon = whole.firstIndex(of: UInt8(ascii: ":"))
      name = Slice(rebasing: whole[..<(colon ?? whole.count)]).trimmed
      qualifier = colon.map { Slice(rebasing: whole[($0 + 1)...]).trimmed }
      guard let bracket else {
        (comparison, bound) = (nil, nil)
        return
      }
      let close = text.firstIndex(of: UInt8(ascii: ")")) ?? text.count
      let inside = Slice(rebasing: text[(bracket + 1)..<close]).trimmed
      let signs = inside.prefix { (UInt8(ascii: "<")...UInt8(ascii: ">")).contains($0) }.count
      comparison = Slice(rebasing: inside[..<signs])
      bound = Slice(rebasing: inside[signs...]).trimmed
    }
  }

  /// Calls `body` for each alternative of each need of a field.
  func forEachNeed(_ field: PackageField, _ body: (Need) -> Void) {
    var group = 0
    self[field]?.forEachPart(of: UInt8(ascii: ",")) { alternatives in
      var position = 0
      alternatives.forEachPart(of: UInt8(ascii: "|")) { text in
        body(Need(text, group, position))
        position += 1
      }
      group += 1
    }
  }

  /// Calls `body` for each tag.
  func forEachTag(_ body: (Slice) -> Void) {
    self[.tag]?.forEachPart(of: UInt8(ascii: ",")) { part in
      part.forEachPart(of: UInt8(ascii: "\n")) { if !$0.trimmed.isEmpty { body($0.trimmed) } }
    }
  }
}

extension Slice {
  var text: String { String(decoding: self, as: UTF8.self) }
  fileprivate var end: UnsafeRawPointer? { baseAddress.map { $0 + count } }

  /// Without blanks and breaks at both ends.
  fileprivate var trimmed: Slice {
    var (start, end) = (0, count)
    let isBlank = { (byte: UInt8) in byte == 32 || (9...13).contains(byte) }
    while start < end, isBlank(self[start]) { start += 1 }
    while start < end, isBlank(self[end - 1]) { end -= 1 }
    return Slice(rebasing: self[start..<end])
  }

  /// Calls `body` for what is between separators.
  fileprivate func forEachPart(of separator: UInt8, _ body: (Slice) -> Void) {
    guard let base = baseAddress else { return }
    var start = 0
    while start <= count {
      let found = memchr(base + start, Int32(separator), count - start)
      let end = found.map { UnsafeRawPointer($0) - base } ?? count
      body(Slice(start: base + start, count: end - start))
      start = end + 1
    }
  }
}

extension UUID {
  /// 32 hexadecimal digits, as checksums are written.
  init?(digits: Slice) {
    guard digits.count == 32 else { return nil }
    var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    let isWhole = withUnsafeMutableBytes(of: &bytes) { bytes in
      for place in 0..<16 {
        guard let high = Self.value(digits[place * 2]), let low = Self.value(digits[place * 2 + 1]) else {
          return false
        }
        bytes[place] = high << 4 | low
      }
      return true
    }
    guard isWhole else { return nil }
    self.init(uuid: bytes)
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
