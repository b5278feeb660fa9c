// Names of tables and columns as names of a model: letters and digits, capitals in the place of underscores, none twice.

internal import CipherSQLite
internal import ObjectVault

/// Gives names out, each once.
struct AdoptionNames {
  private var taken: Set<String> = []

  /// The name itself where it is free, else with a number behind it.
  mutating func unique(_ name: String) -> String {
    if taken.insert(name.asciiLowercased).inserted { return name }
    var number = 2
    while !taken.insert("\(name)\(number)".asciiLowercased).inserted { number += 1 }
    return "\(name)\(number)"
  }

  /// As an entity is called: `order items` is `OrderItems`.
  static func entity(_ name: String) -> String {
    let joined = words(name).map(capitalized).joined()
    let text = joined.isEmpty ? "Table" : Schema.isUsable(entity: joined) ? joined : "Table\(joined)"
    return Schema.isUsable(entity: text) ? text : "Table"
  }

  /// As a property is called: `created_at` is `createdAt`.
  static func property(_ name: String) -> String {
    let words = words(name)
    let first = words.first.map { $0 == $0.uppercased() ? $0.lowercased() : uncapitalized($0) } ?? ""
    let joined = first + words.dropFirst().map(capitalized).joined()
    return joined.isEmpty ? "value" : Schema.free(joined)
  }

  /// As many of an entity are called.
  static func many(_ name: String) -> String {
    let text = property(name)
    return text.lowercased().hasSuffix("s") ? text : text + "s"
  }

  /// As a to-one is called by its column: `author_id` and `authorID` are `author`.
  static func relationship(_ column: String) -> String {
    let lower = column.lowercased()
    for ending in ["_id", "id"] where lower.hasSuffix(ending) && lower.utf8.count > ending.utf8.count {
      let stem = String(column.dropLast(ending.count))
      // Of `paid` nothing is to be cut.
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
