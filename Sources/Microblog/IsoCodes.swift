// The demo's input from Debian's iso-codes: countries, their subdivisions, and languages.

import Foundation
public import ObjectVault

/// The parts of the files of iso-codes that the demo reads.
public struct IsoCodes: Sendable {
  /// A country, with the fields that the demo uses.
  public struct CountryEntry: Decodable, Sendable {
    /// Its code of two letters.
    public let alpha_2: String
    /// Its name.
    public let name: String
  }
  /// A subdivision of a country, with the fields that the demo uses.
  public struct SubdivisionEntry: Decodable, Sendable {
    /// Its code, which begins with the country's.
    public let code: String
    /// Its name.
    public let name: String
    /// Its kind, such as `Province`.
    public let type: String
    /// The code of the subdivision around it, with or without the country's; nil when there is none.
    public let parent: String?
  }
  /// A language, with the fields that the demo uses.
  public struct LanguageEntry: Decodable, Sendable {
    /// Its code of three letters.
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

  /// Reads the files of the installed package.
  /// - Throws: The errors of reading and decoding them.
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
  /// - Parameter context: The context to insert into. The caller saves.
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
    // The code of a parent may lack the country's.
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
