// Turns names of tables and columns into names of a model: letters and digits only, camel case instead of
// underscores, each name once.

internal import CipherSQLite
internal import ObjectVault

/// Assigns names, each once.
struct AdoptionNames {
  private var taken: Set<String> = []

  /// Returns the name itself if it is free, otherwise the name with a number appended.
  mutating func unique(_ name: String) -> String {
    if taken.insert(name.asciiLowercased).inserted { return name }
    var number = 2
    while !taken.insert("\(name)\(number)".asciiLowercased).inserted { number += 1 }
    return "\(name)\(number)"
  }

  /// The name as that of an entity: `order items` becomes `OrderItems`.
  static func entity(_ name: String) -> String {
    let joined = words(name).map(capitalized).joined()
    let text = joined.isEmpty ? "Table" : Schema.isUsable(entity: joined) ? joined : "Table\(joined)"
    return Schema.isUsable(entity: text) ? text : "Table"
  }

  /// The name as that of a property: `created_at` becomes `createdAt`.
  static func property(_ name: String) -> String {
    let words = words(name)
    let first = words.first.map { $0 == $0.uppercased() ? $0.lowercased() : uncapitalized($0) } ?? ""
    let joined = first + words.dropFirst().map(capitalized).joined()
    return joined.isEmpty ? "value" : Schema.free(joined)
  }

  /// The name of a to-many to an entity, in the plural.
  static func many(_ name: String) -> String {
    let text = property(name)
    return text.lowercased().hasSuffix("s") ? text : text + "s"
  }

  /// The name of a to-one by its column: `author_id` and `authorID` become `author`.
  static func relationship(_ column: String) -> String {
    let lower = column.lowercased()
    for ending in ["_id", "id"] where lower.hasSuffix(ending) && lower.utf8.count > ending.utf8.count {
      let stem = String(column.dropLast(ending.count))
      // The `id` at the end of `paid` is part of the word.
      if ending == "_id" || column.hasSuffix("Id") || column.hasSuffix("ID") { return property(stem) }
    }
    return property(column)
  }

  static func capitalized(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
  private static func uncapitalized(_ text: String) -> String {
    text.prefix(1).lowercased() + text.dropFirst()
  }

  private static func words(_ name: String) -> [String] {
    name.unicodeScalars.split { scalar in
      !(scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal)
    }.map { String(String(String.UnicodeScalarView($0)).prefix(60)) }
  }
}
