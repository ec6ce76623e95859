from prompts import HEALTHY, LOOPING


def test_there_are_enough_to_measure_on() -> None:
    assert len(LOOPING) >= 40
    assert len(HEALTHY) >= 10


def test_each_prompt_has_a_name_of_its_own() -> None:
    names = [prompt.name for prompt in (*LOOPING, *HEALTHY)]
    assert len(set(names)) == len(names)
