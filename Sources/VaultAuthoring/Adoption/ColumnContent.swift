// Classifies the values in a column of another program, and finds the attribute type that holds all of
// them. SQLite does not enforce declared types, so the rows decide.

internal import CipherSQLite
internal import ObjectVault

/// The number of values of each kind in a column.
struct ColumnContent {
  let integers, reals, texts, blobs, nulls: Int64
  /// Integers other than 0 and 1, and integers that a double cannot represent exactly.
  let others, large: Int64
  /// Texts that are no date, or a date that is more exact than a date attribute can hold; and texts that
  /// are no UUID.
  let undated, unidentified: Int64
  /// Blobs whose size is not 16 bytes.
  let oddBlobs: Int64
  /// Texts that are not UTF-8, from programs with another encoding.
  let unreadable: Int64

  /// The contents of some columns, in a single pass over the table for each batch of 100.
  static func all(of columns: [String], in table: String, _ connection: Connection) throws -> [ColumnContent]
  {
    try connection.registerTextCheck()
    // In batches, because the engine limits the number of result columns.
    var contents: [ColumnContent] = []
    for start in stride(from: 0, to: columns.count, by: 100) {
      let names = columns[start..<min(start + 100, columns.count)]
      let sums = SQL.joined(names.map { Self.sums(SQLName($0)) })
      let row = try connection.rows("SELECT \(sums) FROM \(SQLName(table))").first ?? []
      for index in names.indices.map({ ($0 - start) * 11 }) {
        let numbers = row[index..<index + 11].map { $0.int64 ?? 0 }
        contents.append(
          ColumnContent(
            integers: numbers[0], reals: numbers[1], texts: numbers[2], blobs: numbers[3], nulls: numbers[4],
            others: numbers[5], large: numbers[6], undated: numbers[7], unidentified: numbers[8],
            oddBlobs: numbers[9], unreadable: numbers[10]))
      }
    }
    return contents
  }

  /// The years in which a double with the seconds since 2001 has six exact decimals: up to 2 to the
  /// 33rd seconds.
  private static let exactYears: SQL = "'1730' AND '2272'"

  private static func sums(_ name: SQLName) -> SQL {
    let day: SQL = "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
    let uuid: SQL = "'????????-????-????-????-????????????'"
    // Patterns and date functions ignore what follows a NUL.
    let isCut: SQL = "instr(CAST(\(name) AS BLOB), x'00') > 0"
    return """
      sum(typeof(\(name)) = 'integer'), sum(typeof(\(name)) = 'real'), sum(typeof(\(name)) = 'text'),
      sum(typeof(\(name)) = 'blob'), sum(\(name) IS NULL),
      sum(typeof(\(name)) = 'integer' AND \(name) NOT IN (0, 1)),
      sum(typeof(\(name)) = 'integer' AND \(name) NOT BETWEEN -9007199254740992 AND 9007199254740992),
      sum(typeof(\(name)) = 'text' AND (\(isCut) OR \(name) NOT GLOB \(day) OR strftime('%s', \(name)) IS NULL
        OR date(julianday(substr(\(name), 1, 10))) IS NOT substr(\(name), 1, 10) OR \(name) GLOB '??????????[T ]24*'
        OR \(name) GLOB '*.[0-9][0-9][0-9][0-9][0-9][0-9][0-9]*'
        OR (\(name) GLOB '*.[0-9][0-9][0-9][0-9]*' AND substr(\(name), 1, 4) NOT BETWEEN \(exactYears)))),
      sum(typeof(\(name)) = 'text' AND (\(isCut) OR \(name) NOT GLOB \(uuid) OR replace(\(name), '-', '') GLOB '*[^0-9a-fA-F]*')),
      sum(typeof(\(name)) = 'blob' AND length(\(name)) <> 16),
      sum(typeof(\(name)) = 'text' AND NOT vault_utf8(\(name)))
      """
  }
}

extension ColumnContent {
  /// The number of values of each kind, in words.
  fileprivate var kinds: String {
    [(integers, "whole number"), (reals, "number"), (texts, "text"), (blobs, "blob")]
      .filter { $0.0 > 0 }.map { counted($0.0, $0.1) }.joined(separator: ", ")
  }
}

/// The attribute that a column becomes, and the expression for its values.
struct ColumnReading {
  let type: AttributeType
  let expression: SQL
  /// What changes in the values; nil for nothing.
  var note: String?

  private init(_ type: AttributeType, _ expression: SQL, note: String? = nil) {
    (self.type, self.expression, self.note) = (type, expression, note)
  }

  /// A reading of bytes that an expression computes.
  init(data expression: SQL) { self.init(.data, expression) }

  /// Chooses the attribute type of a column.
  /// - Parameters:
  ///   - declared: The column's declared type, in capitals.
  ///   - value: The column, as the query names it.
  ///   - isSinceReference: Whether numbers in date columns count from 2001, as in Core Data.
  ///   - wanted: The type in the steps. It takes precedence where all values fit, because values of
  ///     another file of the same program may look different.
  static func of(
    _ content: ColumnContent, declared: String, _ value: SQL, isSinceReference: Bool = false,
    wanted: AttributeType? = nil
  ) -> ColumnReading {
    let own = byContent(content, declared: declared, value, isSinceReference: isSinceReference)
    guard let wanted, wanted != own.type else { return own }
    return fitting(content, as: wanted, value) ?? own
  }

  private static func byContent(
    _ content: ColumnContent, declared: String, _ value: SQL, isSinceReference: Bool
  ) -> ColumnReading {
    let numbers = content.integers + content.reals
    let isDate = ["DATE", "TIME"].contains { declared.contains($0) }
    if isDate, content.blobs == 0 {
      if numbers == 0, content.undated == 0, !isSinceReference {
        return ColumnReading(
          .date, date(value),
          note: content.texts > 0
            ? "its texts are imported as dates; texts without a time zone count as UTC" : nil)
      }
      if isSinceReference, content.texts == 0, content.large == 0 {
        return ColumnReading(.date, "CAST(\(value) AS REAL)")
      }
    }
    if declared.contains("BOOL"), content.reals + content.texts + content.blobs + content.others == 0 {
      return ColumnReading(.bool, value)
    }
    if declared.contains("UUID") || declared.contains("GUID") {
      if numbers + content.texts + content.oddBlobs == 0 {
        return ColumnReading(
          .uuid, uuid(value), note: content.blobs > 0 ? "its 16 bytes are imported as a UUID" : nil)
      }
      if numbers + content.blobs + content.unidentified == 0 {
        return ColumnReading(.uuid, "upper(\(value))")
      }
    }
    let note =
      !isDate
      ? nil
      : numbers > 0
        ? "its numbers stay numbers, because the date from which they count is unknown"
        : content.texts > 0
          ? "its texts stay texts, because \(content.undated) of them \(content.undated == 1 ? "is" : "are") "
            + "not a valid day and time, or more exact than a date can be (six digits of a second, three "
            + "before 1730 and after 2272)"
          : nil
    var reading = plain(content, declared: declared, value)
    reading.note = reading.note ?? note
    return reading
  }

  /// The reading as a given type; nil if some values do not fit. It is also nil for types whose values
  /// have a form of their own, such as dates and UUIDs, because this function does not check that form.
  private static func fitting(_ content: ColumnContent, as type: AttributeType, _ value: SQL)
    -> ColumnReading?
  {
    let numbers = content.integers + content.reals
    guard numbers + content.texts + content.blobs > 0 else { return ColumnReading(type, value) }
    switch type.traits.storage {
    case .integer where content.reals + content.texts + content.blobs == 0: return ColumnReading(type, value)
    // A number does not determine the date that it counts from.
    case .real where type != .date && content.texts + content.blobs + content.large == 0:
      return ColumnReading(type, "CAST(\(value) AS REAL)")
    case .text(.any) where content.blobs + content.unreadable == 0:
      guard numbers > 0 else { return ColumnReading(type, value) }
      return ColumnReading(
        type, "CASE WHEN \(value) IS NULL THEN NULL ELSE \(text(value)) END",
        note: "it holds \(content.kinds), which are all imported as texts, as in the steps")
    // A column with numbers only is unlikely to hold bytes in another file.
    case .blob where numbers == 0:
      guard content.texts > 0 else { return ColumnReading(type, value) }
      return bytes(value, note: "it holds \(content.kinds), which are all imported as bytes, as in the steps")
    case .integer, .real, .text, .blob: return nil
    }
  }

  /// The reading by content, or by the declared type where there are no values.
  private static func plain(_ content: ColumnContent, declared: String, _ value: SQL) -> ColumnReading {
    let numbers = content.integers + content.reals
    switch (numbers > 0, content.texts > 0, content.blobs > 0) {
    case (false, false, false): return ColumnReading(empty(declared), value)
    case (true, false, false):
      if content.reals == 0 { return ColumnReading(.int, value) }
      if content.large == 0 { return ColumnReading(.double, "CAST(\(value) AS REAL)") }
    case (false, true, false) where content.unreadable == 0: return ColumnReading(.string, value)
    case (false, false, true): return ColumnReading(.data, value)
    default: break
    }
    guard content.unreadable == 0 else {
      return bytes(
        value,
        note:
          "it holds \(content.kinds), of which \(content.unreadable) "
          + "\(content.unreadable == 1 ? "text is" : "texts are") not UTF-8: all are imported as bytes, "
          + "which a transform can convert"
      )
    }
    guard content.blobs > 0 else {
      return ColumnReading(
        .string, "CASE WHEN \(value) IS NULL THEN NULL ELSE \(text(value)) END",
        note: "it holds \(content.kinds), which are all imported as texts")
    }
    return bytes(value, note: "it holds \(content.kinds), which are all imported as bytes")
  }

  private static func text(_ value: SQL) -> SQL {
    // SQLite converts a float to text with 15 digits, which are usually enough: 0.1 becomes 0.1.
    // Otherwise 17 digits are used.
    """
    CASE WHEN typeof(\(value)) = 'real' AND CAST(CAST(\(value) AS TEXT) AS REAL) <> \(value)
    THEN printf('%!.17g', \(value)) ELSE CAST(\(value) AS TEXT) END
    """
  }

  private static func bytes(_ value: SQL, note: String) -> ColumnReading {
    ColumnReading(
      .data,
      "CASE typeof(\(value)) WHEN 'null' THEN NULL WHEN 'blob' THEN \(value) ELSE CAST(\(text(value)) AS BLOB) END",
      note: note)
  }

  /// The type of a column without values, by the rules of column affinity.
  private static func empty(_ declared: String) -> AttributeType {
    if declared.contains("INT") { return .int }
    if ["CHAR", "CLOB", "TEXT", "JSON", "STRING"].contains(where: declared.contains) { return .string }
    if declared.isEmpty || declared.contains("BLOB") { return .data }
    return .double
  }

  /// A date text as seconds since 2001. SQLite rounds to three decimals of a second, so the fraction is
  /// handled separately.
  private static func date(_ value: SQL) -> SQL {
    let point: SQL = "instr(\(value), '.')"
    return """
      CASE \(point) WHEN 0 THEN strftime('%s', \(value)) - 978307200.0
      ELSE strftime('%s', substr(\(value), 1, \(point) - 1) || ltrim(substr(\(value), \(point)), '.0123456789'))
      - 978307200.0 + CAST('0' || substr(\(value), \(point)) AS REAL) END
      """
  }

  private static func uuid(_ value: SQL) -> SQL {
    """
    CASE WHEN \(value) IS NULL THEN NULL ELSE substr(hex(\(value)), 1, 8) || '-' || substr(hex(\(value)), 9, 4) || '-' || substr(hex(\(value)), 13, 4) || '-'
    || substr(hex(\(value)), 17, 4) || '-' || substr(hex(\(value)), 21, 12) END
    """
  }
}
