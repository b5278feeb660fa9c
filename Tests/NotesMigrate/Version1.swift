// The classes of the tutorial "Changing your model" at its first version. The page shows this code.

import Foundation
import ObjectVault

enum Version1 {
  final class Note: ManagedObject {
    @Attribute var title: String
    @Attribute var body: String = ""
    @Attribute(.indexed) var createdAt: Date = .now
  }

  static let schema = Schema {
    Entity(Note.self)
  }
}
