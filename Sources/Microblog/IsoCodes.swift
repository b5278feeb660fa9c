// Debian's iso-codes as input: countries, their subdivisions, languages.

import Foundation
public import ObjectVault

/// The parts of the package's files that the demo reads.
public struct IsoCodes: Sendable {
  /// One entry of the file, as far as it is used.
  public struct CountryEntry: Decodable, Sendable {
    /// Its two letters.
    public let alpha_2: String
    /// Its name.
    public let name: String
  }
  /// One entry of the file, as far as it is used.
  public struct SubdivisionEntry: Decodable, Sendable {
    /// Its code.
    public let code: String
    /// Its name.
    public let name: String
    /// What it is called there.
    public let type: String
    /// The region around it, or its name.
    public let parent: String?
  }
  /// One entry of the file, as far as it is used.
  public struct LanguageEntry: Decodable, Sendable {
    /// Its three letters.
    public let alpha_3: String
    /// Its name.
    public let name: String
  }

  /// All countries.
  public let countries: [CountryEntry]
  /// All subdivisions.
  public let subdivisions: [SubdivisionEntry]
  /// All languages.
  public let languages: [LanguageEntry]

  /// Reads the installed package.
  public init() throws {
    let folder = URL(fileURLWithPath: "/usr/share/iso-codes/json")
    func read<Entry: Decodable>(_ name: String) throws -> [Entry] {
      let data = try Data(contentsOf: folder.appendingPathComponent("iso_\(name).json"))
      return try JSONDecoder().decode([String: [Entry]].self, from: data)[name] ?? []
    }
    countries = try read("3166-1")
    subdivisions = try read("3166-2")
    languages = try read("639-3")
  }

  /// Inserts everything, with relationships.
  public func insert(into context: ObjectContext) {
    var byCode: [String: Country] = [:]
    for entry in countries {
      byCode[entry.alpha_2] = context.insert(Country.self) {
        $0.alpha2 = entry.alpha_2
        $0.name = entry.name
      }
    }
    var regions: [String: Subdivision] = [:]
    for entry in subdivisions {
      regions[entry.code] = context.insert(Subdivision.self) {
        $0.code = entry.code
        $0.name = entry.name
        $0.kind = entry.type
        $0.country = byCode[String(entry.code.prefix(2))]
      }
    }
    // A parent is named by its code with or without the country's.
    for entry in subdivisions {
      guard let parent = entry.parent else { continue }
      regions[entry.code]?.parent = regions[parent] ?? regions["\(entry.code.prefix(2))-\(parent)"]
    }
    for entry in languages {
      context.insert(Language.self) {
        $0.alpha3 = entry.alpha_3
        $0.name = entry.name
      }
    }
  }
}
