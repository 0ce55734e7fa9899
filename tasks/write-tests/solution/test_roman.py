import unittest

from roman import from_roman, to_roman

KNOWN = {
    1: "I", 2: "II", 3: "III", 4: "IV", 5: "V", 6: "VI", 8: "VIII", 9: "IX", 10: "X", 14: "XIV",
    39: "XXXIX", 40: "XL", 45: "XLV", 49: "XLIX", 50: "L", 90: "XC", 99: "XCIX", 100: "C",
    400: "CD", 444: "CDXLIV", 500: "D", 900: "CM", 999: "CMXCIX", 1000: "M", 1994: "MCMXCIV",
    3000: "MMM", 3999: "MMMCMXCIX",
}


class ToRoman(unittest.TestCase):
    def test_known(self):
        for number, numeral in KNOWN.items():
            with self.subTest(number=number):
                self.assertEqual(to_roman(number), numeral)

    def test_out_of_range(self):
        for number in (0, -1, 4000, 5000):
            with self.subTest(number=number), self.assertRaises(ValueError):
                to_roman(number)


class FromRoman(unittest.TestCase):
    def test_known(self):
        for number, numeral in KNOWN.items():
            with self.subTest(numeral=numeral):
                self.assertEqual(from_roman(numeral), number)

    def test_all_there_and_back(self):
        for number in range(1, 4000):
            self.assertEqual(from_roman(to_roman(number)), number)

    def test_case_and_blanks(self):
        self.assertEqual(from_roman("xiv"), 14)
        self.assertEqual(from_roman("xIv"), 14)
        self.assertEqual(from_roman("  XIV\n"), 14)

    def test_refused(self):
        for text in ("", " ", "IIII", "IC", "VX", "IIX", "MMMM", "VV", "A", "X I", "XIVA", "12"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                from_roman(text)


if __name__ == "__main__":
    unittest.main()
